"""What the tables must carry: numbers without end, and a host that may not create anything."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection

from django_durable.core.options import LATEST, LONGEST
from django_durable.core.states import Status
from django_durable.models import Message, RateStart, StepOutput, WorkflowStatus
from django_durable.models.database import Clock
from tests.drain import Drain
from tests.factories import LimitFactory, WorkflowFactory
from tests.testapp.workflows import echo, two_steps

pytestmark = pytest.mark.django_db

PAST_32_BITS = 2**31 - 8
PAST_JAVASCRIPT = 2**53 - 2
MAY_BE_SMALL = {  # what one workflow, one machine or a person counts
    "attempt", "attempts", "claims", "consumed_step", "max_attempts", "parent_step", "pid", "priority", "rank", "step",
    "concurrency", "worker_concurrency", "rate_limit", "partition_concurrency", "partition_worker_concurrency",
    "partition_rate_limit", "max_running", "max_starts",
}  # fmt: skip


def execute(statement: str, *params: object) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.fetchall() if cursor.description else []


def sequences() -> list[str]:
    return [
        name
        for (name,) in execute("SELECT relname FROM pg_class WHERE relkind = 'S' AND relname ~ '^durable_'")
    ]


@pytest.mark.parametrize("start", [PAST_32_BITS, PAST_JAVASCRIPT])
def test_a_sequence_may_count_on_past_any_width(start):
    for name in sequences():
        execute(f"ALTER SEQUENCE {name} RESTART WITH {start}")
    LimitFactory(key="rate", max_running=None, max_starts=100, window="1 hour")
    echo.using(limit_key="rate").enqueue_many([((n,), {}) for n in range(20)])
    two_steps.enqueue_many([((), {})] * 20)
    outcomes = Drain()()
    assert len(outcomes) == 40
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.SUCCESS}
    assert StepOutput.objects.count() == 40
    message = Message.objects.create(workflow_id="a", payload="1", sent_at=Clock())
    assert message.id >= start
    assert RateStart.objects.count() == 20
    assert RateStart.objects.order_by("-id").values_list("id", flat=True)[0] > start + 18
    assert WorkflowStatus.objects.order_by("-seq").values_list("seq", flat=True)[0] > start + 38


def test_every_column_that_grows_with_the_table_is_64_bits_wide():
    rows = execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_name LIKE 'durable\\_%%' AND data_type IN ('integer', 'smallint')"
    )
    assert {name for (name,) in rows} - MAY_BE_SMALL == set()


def test_a_role_that_may_not_create_anything_can_enqueue_claim_and_run():
    execute("CREATE ROLE durable_app NOLOGIN")
    execute("GRANT USAGE ON SCHEMA public TO durable_app")
    execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO durable_app")
    execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO durable_app")
    execute("SET LOCAL ROLE durable_app")
    assert execute("SELECT has_schema_privilege('public', 'CREATE')") == [(False,)]
    run = two_steps.enqueue()
    Drain()()
    assert run.result() == ["first", 1]


INSTANTS = ["created_at", "delay_until", "expires_at", "deadline", "wake_at"]


@pytest.mark.parametrize("column", INSTANTS)
@pytest.mark.parametrize("instant", ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"])
def test_an_instant_that_python_cannot_read_back_is_kept_out_by_the_table(column, instant):
    """One such row would break each claim and each list that it is part of."""
    run = WorkflowFactory.create(status=Status.DELAYED)
    with pytest.raises(IntegrityError, match="durable_times_readable"):
        execute(f"UPDATE durable_workflow_status SET {column} = %s WHERE id = %s", instant, run.pk)


@pytest.mark.parametrize("timeout", ["-1 second", "1000000 years", "178000000 years"])
def test_a_timeout_that_no_clock_can_reach_is_kept_out_too(timeout):
    run = WorkflowFactory.create(status=Status.DELAYED)
    with pytest.raises(IntegrityError, match="durable_times_readable"):
        execute("UPDATE durable_workflow_status SET timeout = %s::interval WHERE id = %s", timeout, run.pk)


def test_the_widest_times_that_can_be_given_are_taken_and_claimed():
    run = echo.using(timeout=LONGEST, expires_at=LATEST).enqueue()
    late = echo.using(deadline=LATEST, delay=LONGEST).enqueue()
    Drain()()
    assert run.status == Status.SUCCESS
    assert late.record.deadline == LATEST


def test_a_row_without_an_id_is_kept_out_by_the_table():
    with pytest.raises(IntegrityError, match="durable_id_not_empty"):
        WorkflowFactory.create(id="")
