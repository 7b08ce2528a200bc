"""An atomic step's own writes and its checkpoint stand or fall together."""

from __future__ import annotations

import psycopg
import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from django_durable import set_event, step, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.engine.execution import conflicts
from django_durable.exceptions import InsideTransaction, NotSerializable, StepRetriesExhausted
from django_durable.models import StepOutput
from tests.faults import fault
from tests.testapp.models import Ledger
from tests.testapp.workflows import book, echo


def write(place):
    Ledger.objects.create(run_id=str(workflow_id()), step=place)


def test_a_failure_takes_the_steps_writes_back_and_is_recorded_itself(drain):
    @step(atomic=True)
    def write_and_fail():
        write("a")
        raise ValueError("no")

    @workflow
    def body():
        try:
            write_and_fail()
        except ValueError:
            return "went on"

    run = body.enqueue()
    drain()
    assert run.result() == "went on"
    assert not Ledger.objects.exists()
    assert StepOutput.objects.get().error is not None


def test_each_attempt_begins_without_the_writes_of_the_last(drain):
    seen = []

    @step(atomic=True, max_attempts=3, interval=0)
    def third_time():
        seen.append(Ledger.objects.count())
        write(f"try {len(seen)}")
        if len(seen) < 3:
            raise ValueError("not yet")

    @workflow
    def body():
        third_time()

    run = body.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    assert seen == [0, 0, 0]
    assert list(Ledger.objects.values_list("step", flat=True)) == ["try 3"]
    assert StepOutput.objects.get().attempts == 3


def test_attempts_that_all_fail_leave_no_writes(drain):
    @step(atomic=True, max_attempts=2, interval=0)
    def never():
        write("a")
        raise ValueError("no")

    @workflow
    def body():
        never()

    run = body.enqueue()
    drain()
    assert not Ledger.objects.exists()
    with pytest.raises(StepRetriesExhausted):
        run.result()


def test_a_death_within_the_step_leaves_nothing_and_the_next_worker_writes_once(die_once):
    @step(atomic=True)
    def write_once():
        write("a")
        die_once()

    @workflow
    def body():
        write_once()

    assert die_once.then_run(body.enqueue()).status == Status.SUCCESS
    assert Ledger.objects.count() == 1


def test_a_death_after_the_step_does_not_write_again(die_once):
    @workflow
    def body():
        book("a", 5)
        die_once()
        return book("b", 6)

    assert die_once.then_run(body.enqueue()).result() == 6
    assert list(Ledger.objects.order_by("id").values_list("step", "amount")) == [("a", 5), ("b", 6)]


def test_a_result_that_cannot_be_stored_takes_the_writes_back_and_is_not_tried_again(drain):
    tries = []

    @step(atomic=True, max_attempts=5, interval=0)
    def give():
        tries.append(1)
        write("a")
        return object()

    @workflow
    def body():
        give()

    run = body.enqueue()
    drain()
    assert tries == [1]
    assert not Ledger.objects.exists()
    with pytest.raises(NotSerializable, match="the result of step"):
        run.result()


def test_a_conflict_that_postgres_wants_tried_again_spends_no_attempt(drain):
    tries = []

    @step(atomic=True)
    def conflict_twice():
        tries.append(1)
        write("a")
        if len(tries) < 3:
            with connection.cursor() as cursor:
                cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$")

    @workflow
    def body():
        conflict_twice()

    run = body.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    assert len(tries) == 3
    assert (Ledger.objects.count(), StepOutput.objects.get().attempts) == (1, 1)


@pytest.mark.parametrize("by", ["the server", "its own code"])
def test_a_step_that_conflicts_each_time_fails_in_the_end(drain, monkeypatch, by):
    monkeypatch.setattr(conflicts, "MOST", 3)
    tries = []

    @step(atomic=True)
    def conflict():
        tries.append(1)
        if by == "its own code":
            raise OperationalError("rivals") from psycopg.errors.SerializationFailure("rivals")
        with connection.cursor() as cursor:
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'rivals' USING ERRCODE = '40001'; END $$")

    @workflow
    def body():
        conflict()

    run, after = body.enqueue(), echo.enqueue("next")
    drain()
    assert after.result() == "next"
    with pytest.raises(OperationalError, match="rivals"):
        run.result()
    assert len(tries) == 4
    assert StepOutput.objects.get().error is not None


def test_a_durable_call_that_conflicts_each_time_fails_in_the_end(drain, monkeypatch):
    monkeypatch.setattr(conflicts, "MOST", 3)

    @workflow
    def body():
        set_event("stage", "begun")

    run = body.enqueue()
    with fault("40P01", times=100, verb="INSERT", table="durable_event"):
        drain()
    with pytest.raises(OperationalError, match="a fault made for a test"):
        run.result()


def test_a_broken_statement_is_the_steps_failure_and_the_run_goes_on(drain):
    @step(atomic=True)
    def divide():
        write("a")
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    @workflow
    def body():
        try:
            divide()
        except DatabaseError as error:
            return [str(error).strip(), book("b")]

    run = body.enqueue()
    drain()
    assert run.result() == ["division by zero", 1]
    assert list(Ledger.objects.values_list("step", flat=True)) == ["b"]


def test_an_error_that_the_body_swallows_within_the_step_is_still_its_failure(drain):
    """The statement broke the transaction, so nothing of it can be committed, whatever the body does."""

    @step(atomic=True)
    def swallow():
        write("a")
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        except DatabaseError:
            return "all is well"

    @workflow
    def body():
        return swallow()

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    assert not Ledger.objects.exists()


def test_an_atomic_block_of_the_step_is_a_savepoint_of_it(drain):
    @step(atomic=True)
    def write_and_take_back():
        write("kept")
        try:
            with transaction.atomic():
                write("taken back")
                raise ValueError
        except ValueError:
            pass

    @workflow
    def body():
        write_and_take_back()

    run = body.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    assert list(Ledger.objects.values_list("step", flat=True)) == ["kept"]


def test_a_durable_block_inside_the_step_says_what_is_wrong(drain):
    @step(atomic=True)
    def nest():
        with transaction.atomic(durable=True):
            pass

    @workflow
    def body():
        nest()

    run = body.enqueue()
    drain()
    with pytest.raises(RuntimeError, match="durable"):
        run.result()


@pytest.mark.parametrize("atomic", [True, False])
def test_a_durable_call_inside_the_bodys_own_transaction_is_refused(drain, atomic):
    hits = []

    @step(atomic=atomic)
    def mark():
        hits.append(1)

    @workflow
    def body():
        with transaction.atomic():
            write("a")
            mark()

    run = body.enqueue()
    drain()
    assert hits == []
    assert not Ledger.objects.exists()
    with pytest.raises(InsideTransaction, match=r"mark.* needs a transaction of its own"):
        run.result()


def test_on_commit_of_an_atomic_step_runs_once_and_not_if_it_failed(
    drain, django_capture_on_commit_callbacks
):
    sent = []

    @step(atomic=True)
    def announce(fails):
        transaction.on_commit(lambda: sent.append(fails))
        if fails:
            raise ValueError

    @workflow
    def body():
        announce(False)
        announce(True)

    body.enqueue()
    with django_capture_on_commit_callbacks(execute=True):
        drain()
    assert sent == [False]


def test_an_operational_error_of_the_users_own_is_a_failure_like_any_other(drain):
    tries = []

    @step(atomic=True)
    def pretend():
        tries.append(1)
        raise OperationalError("the payment service is away")

    @workflow
    def body():
        pretend()

    run = body.enqueue()
    drain()
    assert tries == [1]
    with pytest.raises(OperationalError, match="payment service"):
        run.result()
