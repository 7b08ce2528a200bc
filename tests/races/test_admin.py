"""Who looks at runs in the admin waits for nobody, and holds nobody up."""

from __future__ import annotations

import pytest
from django.db import connection
from django.urls import reverse

from tests.races.executions import checkpoint, claim_the_head, end, owner, recover, running
from tests.testapp.workflows import echo

LIST = "/admin/durable/workflowstatus/"


def lock_everything():
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM durable_workflow_status FOR UPDATE")
        cursor.execute("SELECT name FROM durable_queue FOR UPDATE")
        return cursor.fetchall()


def pages():
    return [LIST, f"{LIST}?status=PENDING", reverse("admin:durable_workflowstatus_change", args=["w"])]


def test_no_page_waits_for_a_row_that_is_held(race, admin_client):
    running()
    with race.holding(lock_everything):
        for url in [*pages(), "/admin/durable/queue/", "/admin/durable/executor/"]:
            assert admin_client.get(url).status_code == 200


@pytest.mark.parametrize("write", ["end", "checkpoint", "recover", "claim"])
def test_no_page_that_is_being_read_holds_up_a_write(race, admin_client, write):
    run = running()
    lost = owner(run)
    echo.enqueue()
    writes = {
        "end": lambda: end(run, "complete"),
        "checkpoint": lambda: checkpoint(run),
        "recover": lambda: recover(lost),
        "claim": claim_the_head,
    }

    def read():
        return [admin_client.get(url).status_code for url in pages()]

    with race.holding(read) as codes:  # in a transaction that is still open: its locks are all still held
        assert codes == [200, 200, 200]
        assert race.side().do(writes[write])
