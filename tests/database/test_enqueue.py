"""A run is put in line in the caller's transaction, with exactly what the caller said of it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_durable import Options, enqueue_by_name, workflow
from django_durable.core.portions import CHARACTERS_A_STATEMENT
from django_durable.core.states import Status
from django_durable.models import WorkflowStatus
from django_durable.signals import workflow_enqueued
from tests.drain import row
from tests.factories import QueueFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db

OPTIONS = {
    "id": "order-1",
    "queue": "mail",
    "priority": 7,
    "partition_key": "tenant-1",
    "limit_key": "stripe",
    "deduplication_id": "once",
    "timeout": timedelta(minutes=5),
    "max_attempts": 3,
    "app_version": "v1",
    "attributes": {"order": 1, "big": 10**20, "text": "ä\U0001f600"},
    "deadline": datetime(2100, 1, 1, tzinfo=UTC),
    "expires_at": datetime(2099, 1, 1, tzinfo=UTC),
}


def by_the_function(**options):
    return echo.using(**options).enqueue(1, a=2)


def by_name(**options):
    return enqueue_by_name("testapp.echo", 1, options=Options(**options), a=2)


def in_bulk(**options):
    (handle,) = echo.using(**options).enqueue_many([((1,), {"a": 2})])
    return handle


@pytest.mark.parametrize("door", [by_the_function, by_name])
def test_every_option_is_stored_as_it_was_given(door):
    run = row(door(**OPTIONS))
    assert {name: getattr(run, name) for name in OPTIONS} == OPTIONS
    assert (run.name, run.status) == ("testapp.echo", Status.ENQUEUED)


def test_bulk_stores_every_option_that_runs_can_share():
    shared = {name: value for name, value in OPTIONS.items() if name not in ("id", "deduplication_id")}
    run = row(in_bulk(**shared))
    assert {name: getattr(run, name) for name in shared} == shared


def test_options_of_the_declaration_hold_until_the_call_says_otherwise():
    @workflow(queue="mail", priority=3, timeout=60, max_attempts=4, limit_key="stripe")
    def body():
        pass

    plain, other = row(body.enqueue()), row(body.using(priority=-3, queue="slow").enqueue())
    assert (plain.queue, plain.priority, plain.timeout) == ("mail", 3, timedelta(minutes=1))
    assert (plain.max_attempts, plain.limit_key) == (4, "stripe")
    assert (other.queue, other.priority, other.limit_key) == ("slow", -3, "stripe")


def test_using_leaves_the_function_as_it_was():
    echo.using(priority=5).using(queue="mail")
    assert (row(echo.enqueue()).priority, row(echo.enqueue()).queue) == (0, "default")


INSTANT = datetime(2100, 7, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize("option", ["run_at", "expires_at", "deadline"])
@pytest.mark.parametrize(
    "zone",
    [UTC, timezone(timedelta(hours=14)), ZoneInfo("Asia/Kolkata"), ZoneInfo("America/New_York")],
    ids=str,
)
@pytest.mark.parametrize("session", ["UTC", "Asia/Kolkata", "America/Caracas"])
def test_an_instant_is_stored_exactly_whatever_zone_it_is_written_in(option, zone, session, execute):
    execute(f"SET LOCAL timezone = '{session}'")
    echo.using(**{option: INSTANT.astimezone(zone)}).enqueue()
    column = "delay_until" if option == "run_at" else option
    ((seconds,),) = execute(f"SELECT extract(epoch FROM {column}) FROM durable_workflow_status")
    assert seconds == Decimal(int(INSTANT.timestamp())) + Decimal("0.123456")


def test_the_second_of_an_hour_that_comes_twice_is_told_from_the_first():
    twice = datetime(2099, 11, 1, 1, 30, tzinfo=ZoneInfo("America/New_York"))
    first, second = (row(echo.using(run_at=twice.replace(fold=fold)).enqueue()) for fold in (0, 1))
    assert second.delay_until - first.delay_until == timedelta(hours=1)


def test_a_delay_counts_from_the_databases_clock_and_the_run_waits_out_of_line(drain):
    run = row(echo.using(delay=60).enqueue())
    assert run.status == Status.DELAYED
    assert run.delay_until - run.created_at == timedelta(seconds=60)
    assert run.line is None
    assert drain() == []


@pytest.mark.parametrize("options", [{"delay": 0}, {"run_at": datetime(2000, 1, 1, tzinfo=UTC)}])
def test_a_delay_that_is_over_already_puts_the_run_in_line(options):
    assert row(echo.using(**options).enqueue()).status == Status.ENQUEUED


def test_a_run_that_expired_before_it_began_is_not_begun(drain):
    run = echo.using(expires_at=datetime(2000, 1, 1, tzinfo=UTC)).enqueue()
    assert drain() == []
    assert run.status == Status.ENQUEUED


class TestTheCallersTransaction:
    @transaction.atomic
    def enqueue_and_fail(self, workflow_id):
        echo.using(id=workflow_id).enqueue()
        raise ValueError("no")

    def test_no_commit_no_run(self):
        with pytest.raises(ValueError, match="no"):
            self.enqueue_and_fail("a")
        assert not WorkflowStatus.objects.exists()

    def test_what_a_savepoint_took_back_is_gone_and_the_rest_stays(self, drain):
        with transaction.atomic():
            echo.using(id="kept").enqueue()
            with pytest.raises(ValueError, match="no"):
                self.enqueue_and_fail("taken back")
        drain()
        assert list(WorkflowStatus.objects.values_list("id", "status")) == [("kept", Status.SUCCESS)]

    def test_the_caller_can_read_the_run_before_it_is_committed(self):
        with transaction.atomic():
            assert echo.enqueue().status == Status.ENQUEUED


class TestMany:
    def test_many_runs_keep_the_order_they_were_given_in(self, drain, django_assert_max_num_queries):
        with django_assert_max_num_queries(6):  # three inserts, a look at the queue, two savepoints at most
            handles = echo.enqueue_many(((n,), {}) for n in range(2500))
        rows = WorkflowStatus.objects.order_by("seq").values_list("id", flat=True)
        assert list(rows) == [handle.id for handle in handles]
        assert [run.id for run in drain.claim(slots=2500)] == [handle.id for handle in handles]

    def test_large_ones_are_fewer_a_statement(self):
        half = "x" * (CHARACTERS_A_STATEMENT // 2)
        with CaptureQueriesContext(connection) as queries:
            handles = echo.enqueue_many([((half,), {}), ((half,), {}), ((1,), {})])
        inserts = [query for query in queries if '"args' in query["sql"].replace("\\", "")]
        assert (len(handles), len(inserts)) == (3, 2)

    def test_none_at_all_are_no_statement(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert echo.enqueue_many([]) == []

    def test_one_that_cannot_be_stored_keeps_all_others_out(self):
        with pytest.raises(TypeError, match="argument 1"):
            echo.enqueue_many([((1,), {}), ((object(),), {})])
        assert not WorkflowStatus.objects.exists()


class TestUnknownQueues:
    def test_the_run_waits_and_a_warning_says_so(self, drain, caplog):
        with caplog.at_level(logging.WARNING, "django_durable"):
            run = echo.using(queue="not made yet").enqueue("a")
        assert "queue 'not made yet' does not exist yet" in caplog.text
        assert drain() == []
        assert drain("not made yet") == []
        QueueFactory(name="not made yet")
        drain()
        assert run.result() == "a"

    def test_a_queue_that_exists_is_no_warning(self, caplog):
        QueueFactory(name="mail")
        echo.using(queue="mail").enqueue()
        assert caplog.text == ""


def test_ids_that_nobody_gave_are_made_in_order():
    ids = [echo.enqueue().id for _ in range(100)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 100


def test_a_receiver_learns_of_runs_and_its_error_is_its_own(caplog):
    told = []

    def listen(ids, name, queue, **_):
        told.append((ids, name, queue))
        raise ValueError("a receiver's own")

    workflow_enqueued.connect(listen)
    try:
        run = echo.enqueue()
    finally:
        workflow_enqueued.disconnect(listen)
    assert told == [([run.id], "testapp.echo", "default")]


def test_calling_a_workflow_plainly_records_nothing():
    assert echo.call(1) == 1
    assert not WorkflowStatus.objects.exists()


def test_the_async_doors_lead_to_the_same_rows():
    async def enqueue():
        one = await echo.using(id="a", priority=2).aenqueue(1, a=2)
        more = await echo.aenqueue_many([((n,), {}) for n in range(3)])
        return [one, *more]

    handles = async_to_sync(enqueue)()
    assert [row(handle).status for handle in handles] == [Status.ENQUEUED] * 4
    assert row(handles[0]).priority == 2
