"""What the holder of a handle gets: the value, the error with its type, or why there is neither."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, connections, transaction
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from django_durable import Status, gather, retrieve, workflow
from django_durable.core.payloads.failures import describe
from django_durable.core.portions import CHARACTERS_A_STATEMENT
from django_durable.core.states import PARKED
from django_durable.engine.handle import Handle
from django_durable.engine.waits.results import RESULT
from django_durable.exceptions import (
    InsideTransaction,
    InvalidOption,
    ResultTimeout,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotFound,
    WorkflowParked,
)
from django_durable.testing import adrain
from tests.database.test_steps import DeclaredFault
from tests.drain import Drain
from tests.factories import WorkflowFactory
from tests.testapp.workflows import echo

VALUES = [
    None,
    0,
    -0.0,
    10**400,
    "a\x00b\ud800",
    (1, [2, {3}]),
    Decimal("1.10"),
    datetime(2026, 10, 25, 2, 30, 0, 123456, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    timedelta(microseconds=1),
    b"\x00\xff",
    {1: "a", "1": "b", None: "c"},
    Status.SUCCESS,
]


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_a_value_goes_in_through_the_door_and_comes_out_of_the_result_as_it_was(drain, value):
    run = echo.enqueue(value)
    drain()
    result = run.result()
    assert result == value
    assert type(result) is type(value)
    assert repr(result) == repr(value)


def test_large_results_of_many_are_not_recorded_in_one_statement(drain):
    """A server hangs up on a statement that is too long, which looks like an outage, time and again."""

    @workflow(name="results.large")
    def large():
        return "x" * (CHARACTERS_A_STATEMENT // 2)

    @workflow(name="results.gathers")
    def gathers():
        return sum(len(value) for value in gather(*[large.enqueue() for _ in range(3)]))

    run = gathers.enqueue()
    with CaptureQueriesContext(connection) as queries:
        drain()
    statements = [query for query in queries if "xxx" in query["sql"] and RESULT in query["sql"]]
    assert run.result() == 3 * CHARACTERS_A_STATEMENT // 2
    assert len(statements) == 2


def test_an_error_is_raised_with_its_type_and_its_parts(drain):
    @workflow
    def body():
        raise DeclaredFault(7, "no")

    run = body.enqueue()
    drain()
    with pytest.raises(DeclaredFault) as raised:
        run.result()
    assert (raised.value.code, raised.value.detail) == (7, "no")


def test_an_error_whose_type_is_not_here_is_raised_with_all_that_is_known(drain):
    class LocalFault(Exception):
        pass

    @workflow
    def body():
        raise LocalFault("no")

    run = body.enqueue()
    drain()
    with pytest.raises(WorkflowFailed) as raised:
        run.result()
    assert raised.value.workflow_id == run.id
    assert raised.value.path.endswith("LocalFault")
    assert raised.value.message == "no"
    assert "raise LocalFault" in raised.value.traceback


def test_a_cancelled_run_says_so_with_its_reason(db):
    run = echo.enqueue()
    run.cancel(reason="not wanted")
    with pytest.raises(WorkflowCancelled, match="not wanted"):
        run.result()


def test_a_parked_run_says_so(db):
    parked = WorkflowFactory.create(status=PARKED, error=describe(WorkflowParked("a")))
    with pytest.raises(WorkflowParked, match="set aside"):
        Handle(parked.id).result()


@pytest.mark.parametrize("error", ["", "no JSON", "{}", "[]", None])
def test_an_error_column_of_any_content_is_an_error(db, error):
    failed = WorkflowFactory.create(status=Status.ERROR, error=error)
    with pytest.raises(WorkflowFailed, match=failed.id):
        Handle(failed.id).result()


def test_inside_a_transaction_only_a_run_that_ended_has_a_result(drain):
    run = echo.enqueue(1)
    with transaction.atomic(), pytest.raises(InsideTransaction, match=r"result\(\)"):
        run.result()
    drain()
    with transaction.atomic():
        assert run.result() == 1


@pytest.mark.parametrize("timeout", ["5", float("nan"), float("inf"), -1, True, date(2026, 1, 1)])
def test_a_timeout_that_is_no_length_of_time_is_refused(db, timeout):
    run = echo.enqueue(1)

    async def wait():
        await run.aresult(timeout=timeout)

    for ask in (lambda: run.result(timeout=timeout), async_to_sync(wait)):
        with pytest.raises(InvalidOption, match="timeout"):
            ask()


@pytest.mark.django_db(transaction=True)
class TestWaiting:
    @pytest.mark.parametrize("timeout", [0, 0.02, timedelta(milliseconds=20)])
    def test_a_run_that_does_not_end_in_time_goes_on(self, timeout):
        run = echo.enqueue(1)
        with pytest.raises(ResultTimeout, match="goes on"):
            run.result(timeout=timeout)
        with pytest.raises(TimeoutError):
            run.result(timeout=timeout)
        assert run.status == Status.ENQUEUED

    def test_it_comes_as_soon_as_the_run_ends_elsewhere(self):
        run = echo.enqueue(1)
        elsewhere = threading.Thread(target=_drain_elsewhere)
        elsewhere.start()
        assert run.result(timeout=60) == 1
        elsewhere.join()

    def test_awaiting_it_is_the_same(self):
        async def wait():
            return await run.aresult(timeout=60)

        run = echo.enqueue(datetime(2026, 1, 1, tzinfo=UTC))
        Drain()()
        assert async_to_sync(wait)() == datetime(2026, 1, 1, tzinfo=UTC)

    def test_a_run_that_is_deleted_meanwhile_is_not_found(self):
        run = echo.enqueue(1)
        handle = retrieve(run.id)
        run.record.delete()
        with pytest.raises(WorkflowNotFound):
            handle.result(timeout=60)


class TestInsideTheTransactionOfATest(TestCase):
    async def test_the_result_of_a_run_that_the_test_made_can_be_awaited(self):
        run = await echo.aenqueue(1)
        with pytest.raises(InsideTransaction):
            await run.aresult()
        await adrain()
        assert await run.aresult(timeout=60) == 1


def _drain_elsewhere() -> None:
    try:
        Drain()()
    finally:
        connections.close_all()
