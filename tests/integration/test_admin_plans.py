"""The list of workflows looks for a status that few rows have through a small index, not through all rows."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_durable.core.states import Status
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db

LIST = "/admin/durable/workflowstatus/"
FEW = [status for status in Status if status != Status.SUCCESS]
MANY_SUCCEEDED = """
INSERT INTO durable_workflow_status
    (id, name, status, queue, priority, attempt, max_attempts, claims, created_at, updated_at, completed_at,
     input, serialization, attributes, headers, awaited)
SELECT 'old-' || n, 'a', 'SUCCESS', 'default', 0, 0, 1, 0, at, at, at, '[]', 'json', '{}', '{}', false
FROM generate_series(1, 20000) AS n, LATERAL (SELECT now() - n * interval '1 second' AS at) AS of_row
"""


def plans_of_page(client, status):
    """What the database does for the statements on the big table that the page sends."""
    with CaptureQueriesContext(connection) as asked:
        assert client.get(LIST, {"status": status}).context["cl"].result_count == 1
    with connection.cursor() as cursor:
        for query in asked:
            if 'FROM "durable_workflow_status"' in query["sql"]:
                cursor.execute("EXPLAIN (ANALYZE, COSTS OFF) " + query["sql"].replace("%", "%%"))
                yield "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.parametrize("status", FEW)
def test_a_rare_status_is_found_without_reading_all_rows(admin_client, status):
    for each in FEW:
        WorkflowFactory(status=each)
    with connection.cursor() as cursor:
        cursor.execute(MANY_SUCCEEDED)
        cursor.execute("ANALYZE durable_workflow_status")
    plans = list(plans_of_page(admin_client, status))
    assert len(plans) == 1
    for plan in plans:
        assert "Seq Scan" not in plan, plan
        assert "durable_newest" not in plan, plan


@pytest.mark.parametrize(
    ("rows", "params", "shown", "counted", "statements"),
    [
        (7, {}, 7, 7, 1),
        (100, {}, 100, 100, 1),
        (101, {}, 100, 101, 2),
        (101, {"p": "2"}, 1, 101, 3),
        (101, {"all": ""}, 101, 101, 3),
    ],
)
def test_where_one_page_holds_all_the_table_is_read_once(
    admin_client, rows, params, shown, counted, statements
):
    WorkflowFactory.create_batch(rows)
    with CaptureQueriesContext(connection) as asked:
        shows = admin_client.get(LIST, params).context["cl"]
        assert (len(shows.result_list), shows.result_count) == (shown, counted)
    sent = [query["sql"] for query in asked if 'FROM "durable_workflow_status"' in query["sql"]]
    assert len(sent) == statements


def test_a_run_that_has_not_failed_is_not_in_the_index_of_those_that_have():
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'durable_unsuccessful'")
        ((definition,),) = cursor.fetchall()
    for status in (Status.SUCCESS, Status.PENDING, Status.ENQUEUED, Status.WAITING, Status.DELAYED):
        assert f"'{status}'" not in definition
