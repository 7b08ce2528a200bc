"""The tools that projects test their workflows with, inside a plain TestCase."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase

from django_durable import arecv, asend, recv, retrieve, send, sleep, step, workflow
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.exceptions import (
    InsideTransaction,
    InvalidOption,
    StepRetriesExhausted,
    WorkflowCancelled,
)
from django_durable.models import Queue
from django_durable.testing import (
    adrain,
    assert_enqueued,
    assert_not_enqueued,
    crash_at,
    drain,
    enqueued,
    fail_step,
    freeze,
    shift,
)
from django_durable.testing.draining import EndlessDrain
from django_durable.testing.plugin import durable_clock, durable_drain
from tests.testapp.models import Ledger
from tests.testapp.workflows import book, echo, two_steps

__all__ = ["durable_clock", "durable_drain"]
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _only_the_declarations_of_the_project():
    before = {id(declaration) for declaration in workflows}
    yield
    for declaration in [each for each in workflows if id(each) not in before]:
        workflows.remove(declaration)


class DrainTests(TestCase):
    def test_runs_what_is_ready_and_what_that_makes_ready(self):
        @workflow(name="grows")
        def grows(left):
            if left:
                grows.enqueue(left - 1)
            return left

        run = grows.enqueue(3)
        assert drain() == 4
        assert run.result() == 3

    def test_a_drain_inside_a_transaction_of_the_test_is_refused_in_words(self):
        run = echo.enqueue(1)
        with pytest.raises(InsideTransaction, match=r"drain\(\)"), transaction.atomic():
            drain()
        assert (drain(), run.status) == (1, Status.SUCCESS)

    def test_an_enqueue_that_is_rolled_back_is_not_run(self):
        assert drain() == 0

    def test_stops_where_there_is_no_end(self):
        @workflow(name="endless")
        def endless():
            endless.enqueue()

        endless.enqueue()
        with pytest.raises(EndlessDrain):
            drain(most=20)

    def test_a_delay_passes_when_the_clock_is_shifted(self):
        run = echo.using(delay=3600).enqueue("late")
        drain()
        assert run.status == Status.DELAYED
        shift(HOUR)
        drain()
        assert run.result() == "late"

    def test_a_sleep_and_a_timeout_pass_when_the_clock_is_shifted(self):
        @workflow(name="waits")
        def waits():
            sleep(HOUR)
            return recv("never", timeout=HOUR)

        run = waits.enqueue()
        drain()
        for _ in range(2):
            assert run.status == Status.WAITING
            shift(HOUR)
            drain()
        assert run.result() is None

    def test_a_deadline_passes_when_the_clock_is_shifted(self):
        @workflow(name="waits", timeout=HOUR)
        def waits():
            recv("never")

        run = waits.enqueue()
        drain()
        shift(HOUR)
        drain()
        with pytest.raises(WorkflowCancelled):
            run.result()

    def test_a_frozen_clock_makes_every_wait_leave_the_worker(self):
        @workflow(name="naps")
        def naps():
            sleep(0.5)
            return "rested"

        with freeze() as clock:
            run = naps.enqueue()
            drain()
            assert run.status == Status.WAITING
            clock.shift(1)
            drain()
        assert run.result() == "rested"

    def test_what_committed_callbacks_enqueue_is_drained(self):
        with self.captureOnCommitCallbacks(execute=True):
            transaction.on_commit(lambda: echo.using(id="later").enqueue(1))
        drain()
        assert retrieve("later").result() == 1


class AsyncTests(TestCase):
    async def test_drains_and_sends_in_an_async_test(self):
        @workflow(name="receives")
        async def receives():
            return await arecv("a")

        run = await receives.aenqueue()
        await adrain()
        await asend(run.id, "hello", "a")
        await adrain()
        assert await run.astatus() == Status.SUCCESS


class CommittedTests(TransactionTestCase):
    def test_drains_where_transactions_really_commit(self):
        with transaction.atomic():
            run = two_steps.enqueue()
        drain()
        assert run.result() == ["first", 1]
        assert connection.is_usable()


class FaultTests(TestCase):
    def test_a_step_fails_as_often_as_told(self):
        @step(max_attempts=3, interval=0)
        def works():
            return "done"

        @workflow(name="tries")
        def tries():
            return works()

        with fail_step(works, ValueError("told"), times=2) as hits:
            run = tries.enqueue()
            drain()
        assert (run.result(), hits.count) == ("done", 2)
        with fail_step(works.name, ValueError("told"), times=9):
            run = tries.enqueue()
            drain()
        with pytest.raises(StepRetriesExhausted):
            run.result()

    def test_a_long_retry_delay_leaves_the_worker_and_keeps_count(self):
        @step(max_attempts=3, interval=600, max_interval=3600)
        def works():
            return "done"

        @workflow(name="tries")
        def tries():
            return works()

        with fail_step(works, ValueError("told"), times=2) as hits:
            run = tries.enqueue()
            for expected in (1, 2):
                drain()
                assert (run.status, hits.count) == (Status.WAITING, expected)
                shift(HOUR)
            drain()
        assert run.result() == "done"
        assert run.record.steps.get(step=1).attempts == 3

    def test_the_longest_wait_of_a_debounce_passes_as_time_does(self):
        debounced = echo.debounce("key", 60, max_wait=100)
        run = debounced.enqueue(1)
        shift(50)
        assert debounced.enqueue(2) == run
        assert drain() == 0
        shift(51)
        assert (drain(), run.result()) == (1, 2)

    def test_a_crash_before_a_step_runs_it_once(self):
        with crash_at("book") as hits:
            run = two_steps.enqueue()
            drain()
        assert (run.result(), hits.count) == (["first", 1], 1)
        assert Ledger.objects.filter(run_id=run.id).count() == 1

    def test_a_crash_after_an_atomic_step_takes_its_rows_back(self):
        with crash_at(book, when="after", times=3) as hits:
            run = two_steps.enqueue()
            drain()
        assert (run.status, hits.count) == (Status.SUCCESS, 3)
        assert Ledger.objects.filter(run_id=run.id).count() == 1

    def test_a_crash_after_a_plain_step_runs_it_again(self):
        ran = []

        @step
        def works():
            ran.append(1)

        @workflow(name="runs")
        def runs():
            works()

        with crash_at(works, when="after"):
            run = runs.enqueue()
            drain()
        assert (run.status, len(ran)) == (Status.SUCCESS, 2)

    def test_a_fault_that_never_struck_is_told_with_the_steps_that_ran(self):
        for fault in (fail_step("bok", ValueError("told")), crash_at("bok"), crash_at("bok", when="after")):
            two_steps.enqueue()
            with pytest.raises(AssertionError, match=r"'bok'; steps that ran: .*'book'"), fault:
                drain()

    def test_a_fault_does_not_hide_what_the_block_raises(self):
        with pytest.raises(KeyError), fail_step("book", ValueError("told")):
            raise KeyError

    def test_a_fault_at_no_moment_no_step_or_no_times_is_refused(self):
        for fault in (
            lambda: crash_at(book, when="befor"),
            lambda: crash_at(print),
            lambda: fail_step(None, ValueError),
            lambda: fail_step(book, ValueError, times=0),
        ):
            with pytest.raises(InvalidOption), fault():
                raise AssertionError("the block was entered")

    def test_a_step_that_is_a_method_fails_by_what_its_instance_gives(self):
        class Bank:
            @step
            def charge(self):
                return "charged"

        bank = Bank()

        @workflow(name="pays")
        def pays():
            return bank.charge()

        with fail_step(bank.charge, ValueError("told")) as hits:
            pays.enqueue()
            drain()
        assert hits.count == 1


class AssertionTests(TestCase):
    def test_what_was_enqueued_is_told_with_its_arguments(self):
        assert_not_enqueued(echo)
        run = echo.enqueue(1, key="value")
        assert assert_enqueued(echo, 1, key="value").id == run.id
        assert [each.args for each in enqueued(echo)] == [(1,)]
        assert enqueued(queue="elsewhere") == []
        with pytest.raises(AssertionError, match=r"\(1,\)"):
            assert_enqueued(echo, 2)
        with pytest.raises(AssertionError):
            assert_not_enqueued("testapp.echo")
        drain()
        assert_not_enqueued(echo)


def test_the_fixtures_of_the_plugin(durable_drain, durable_clock):
    @workflow(name="waits")
    def waits():
        return recv("a", timeout=10)

    run = waits.enqueue()
    assert durable_drain() == 1
    send(run.id, 5, "a")
    durable_clock.shift(1)
    assert durable_drain() == 1
    assert run.result() == 5


def test_a_queue_that_nobody_made_is_refused_with_those_that_are_there(db):
    with pytest.raises(InvalidOption, match=r"none is 'reprots'; there are: 'default'"):
        drain("reprots")
    with pytest.raises(InvalidOption, match=r"none is \['default'\]"):
        drain(["default"])


def test_declared_queues_are_made_where_they_are_missing(db, settings):
    Queue.objects.all().delete()  # as a flush without signals leaves it
    settings.DURABLE = {"QUEUES": {"fast": {"concurrency": 1}}}
    runs = [echo.enqueue(1), echo.using(queue="fast").enqueue(2)]
    drain()
    assert [run.result() for run in runs] == [1, 2]
    fast = Queue.objects.get(name="fast")
    assert (fast.concurrency, fast.code_owned) == (1, True)


class TestAWorkerInATest(TestCase):
    def test_a_burst_sees_nothing_of_the_test_and_leaves_its_transaction_alone(self):
        run = echo.enqueue(1)
        before = set(threading.enumerate())
        with suppress(SystemExit):
            call_command("run_queues", "--burst", verbosity=0, stderr=(told := StringIO()))
        assert "django_durable.testing.drain()" in told.getvalue()
        assert set(threading.enumerate()) <= before
        assert run.status == Status.ENQUEUED
        drain()
        assert run.result() == 1
