"""However a body ends, its run ends: once, in plain words, and the next run is taken."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError

from django_durable import Cancel, Fail, Snooze, recv, send, step, workflow, workflow_id
from django_durable.core.states import PARKED, Status
from django_durable.exceptions import (
    NotSerializable,
    StepFailed,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowParked,
)
from django_durable.models import StepOutput, WorkflowStatus
from tests.drain import row
from tests.factories import StepFactory
from tests.testapp.workflows import echo


@workflow(name="outcomes.raise")
def raise_it(make):
    raise ERRORS[make]


ERRORS: dict[str, BaseException] = {
    type(error).__name__: error
    for error in (
        ValueError("no"),
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        StopIteration(),
        RecursionError("deep"),
        MemoryError(),
        OperationalError("connection refused"),
        InterfaceError("connection already closed"),
        TimeoutError(),
    )
}


@pytest.mark.parametrize("make", ERRORS)
def test_whatever_a_body_raises_is_its_failure_and_the_next_run_is_taken(drain, make):
    run = raise_it.enqueue(make)
    after = echo.enqueue("after")
    drain()
    assert run.status == Status.ERROR
    assert after.result() == "after"
    with pytest.raises((type(ERRORS[make]), WorkflowFailed)) as raised:
        run.result()
    if isinstance(raised.value, WorkflowFailed):
        assert raised.value.path.endswith(make)


@pytest.mark.parametrize("make", ERRORS)
def test_whatever_a_step_raises_reaches_its_body_once_and_is_recorded(drain, make):
    hits = []

    @step
    def refuse():
        hits.append(1)
        raise ERRORS[make]

    @workflow
    def body():
        try:
            refuse()
        except BaseException as error:
            return type(error).__name__

    run = body.enqueue()
    drain()
    assert run.result() == make
    assert hits == [1]
    assert StepOutput.objects.get().error is not None


def test_sys_exit_in_a_body_ends_the_run_and_not_the_worker(drain):
    @workflow
    def leave():
        sys.exit("bye")

    run = leave.enqueue()
    drain()
    with pytest.raises(WorkflowFailed, match="SystemExit: bye"):
        run.result()


@pytest.mark.parametrize(
    "give", [object, lambda: sys.stdout, lambda: iter("ab"), lambda: echo, lambda: Looped.make()]
)
def test_a_result_that_cannot_be_stored_is_the_runs_failure_in_plain_words(drain, give):
    kept = []

    @workflow(max_attempts=5)
    def body():
        kept.append(give())
        return {"deep": kept}

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    assert len(kept) == 1
    with pytest.raises(NotSerializable) as raised:
        run.result()
    assert f"the result of workflow {body.name!r} cannot be stored" in str(raised.value)
    assert "['deep'][0]" in str(raised.value)


class Looped:
    @staticmethod
    def make():
        loop: list[object] = []
        loop.append(loop)
        return loop


def test_an_error_that_defies_description_is_recorded_all_the_same(drain):
    class Defiant(Exception):
        def __str__(self):
            raise RuntimeError("no text")

        __repr__ = __str__

    @workflow
    def body():
        raise Defiant

    run = body.enqueue()
    drain()
    with pytest.raises(WorkflowFailed, match="Defiant"):
        run.result()


@pytest.mark.parametrize("text", ["\x00", "\ud800\udcff", "\x1b[31m", "x" * 10**7, "\U0001f600"])
def test_any_text_of_an_error_can_be_recorded(drain, text):
    @workflow
    def body():
        raise ValueError(text)

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    assert len(row(run).error) < 10**6
    with pytest.raises((ValueError, WorkflowFailed)):
        run.result()


def test_a_body_that_runs_again_at_once_gets_its_arguments_as_they_were_given(drain):
    @workflow
    def body(items, *, more):
        items.append("mine")
        more["mine"] = True
        try:
            return items, more, recv("go")
        except BaseException:  # somebody sends it while the body leaves
            contextvars.Context().run(send, workflow_id(), "came", "go")
            raise

    run = body.enqueue(["given"], more={})
    drain()
    assert row(run).claims == 1
    assert run.result() == (["given", "mine"], {"mine": True}, "came")


class TestRetryingTheWhole:
    def test_a_failed_run_goes_on_from_the_step_that_failed(self, drain):
        hits = []

        @step
        def first():
            hits.append("first")
            return 1

        @step
        def second():
            hits.append("second")
            if hits.count("second") < 3:
                raise ValueError("not yet")
            return 2

        @workflow(max_attempts=3)
        def body():
            return first() + second()

        run = body.enqueue()
        for failed in (1, 2):
            drain()
            record = row(run)
            assert (record.status, record.attempt) == (Status.DELAYED, failed)
            assert "not yet" in record.error
            assert list(StepOutput.objects.values_list("step", flat=True)) == [1]
            drain.hasten()
        drain()
        assert run.result() == 3
        assert hits == ["first", "second", "second", "second"]
        assert row(run).error is None

    def test_it_ends_in_its_last_error_once_the_attempts_are_spent(self, drain):
        tries = []

        @workflow(max_attempts=3)
        def body():
            tries.append(1)
            raise ValueError(f"try {len(tries)}")

        run = body.enqueue()
        for _ in range(5):
            drain()
            drain.hasten()
        assert len(tries) == 3
        assert row(run).attempt == 3
        with pytest.raises(ValueError, match="try 3"):
            run.result()

    def test_an_error_that_is_not_to_be_retried_ends_it_at_once(self, drain):
        @workflow(max_attempts=3, retry_on=KeyError)
        def body():
            raise ValueError("no")

        run = body.enqueue()
        drain()
        assert run.status == Status.ERROR

    def test_the_number_of_attempts_can_be_given_with_the_call(self, drain):
        @workflow
        def body():
            raise ValueError("no")

        run = body.using(max_attempts=2).enqueue()
        drain()
        assert row(run).status == Status.DELAYED
        drain.hasten()
        drain()
        assert row(run).status == Status.ERROR

    @pytest.mark.parametrize(
        "backoff", [lambda attempt, error: float("nan"), lambda attempt, error: 1 / 0, lambda *_: "soon"]
    )
    def test_a_backoff_that_makes_no_sense_gives_the_default_delay(self, drain, backoff):
        @workflow(max_attempts=2, backoff=backoff)
        def body():
            raise ValueError("no")

        run = body.enqueue()
        drain()
        record = row(run)
        assert timedelta(0) < record.delay_until - record.updated_at < timedelta(seconds=2)


class TestWhatABodyMayAskFor:
    def test_snooze_comes_back_later_and_spends_no_attempt_nor_claim(self, drain):
        runs = []

        @workflow
        def body():
            runs.append(1)
            if len(runs) < 3:
                raise Snooze(timedelta(hours=1))
            return "done"

        run = body.enqueue()
        for _ in range(2):
            drain()
            record = row(run)
            assert (record.status, record.attempt, record.claims) == (Status.DELAYED, 0, 0)
            assert record.delay_until - record.updated_at == pytest.approx(
                timedelta(hours=1), abs=timedelta(seconds=1)
            )
            drain.hasten()
        drain()
        assert run.result() == "done"

    def test_a_step_that_failed_before_a_snooze_stays_failed_after_it(self, drain):
        hits = []

        @step
        def refuse():
            hits.append(1)
            raise ValueError("no")

        @workflow
        def body():
            with pytest.raises(ValueError, match="no"):
                refuse()
            if len(runs) < 2:
                runs.append(1)
                raise Snooze(60)

        runs: list[int] = []
        run = body.enqueue()
        for _ in range(3):
            drain()
            drain.hasten()
        assert run.status == Status.SUCCESS
        assert hits == [1]

    @pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), "soon", 10**10, timedelta.max])
    def test_a_snooze_that_makes_no_sense_is_a_failure_in_plain_words(self, drain, delay):
        @workflow
        def body():
            raise Snooze(delay)

        run = body.enqueue()
        drain()
        assert run.status == Status.ERROR
        with pytest.raises(Exception, match="the delay of Snooze must"):
            run.result()

    def test_fail_ends_it_now_whatever_attempts_are_left(self, drain):
        @workflow(max_attempts=5)
        def body():
            raise Fail("the card was stolen")

        run = body.enqueue()
        drain()
        assert run.status == Status.ERROR
        with pytest.raises(WorkflowFailed, match="the card was stolen"):
            run.result()

    def test_cancel_ends_it_as_cancelled_with_its_reason(self, drain):
        @workflow(max_attempts=5)
        def body():
            raise Cancel("not needed any more")

        run = body.enqueue()
        drain()
        assert run.status == Status.CANCELLED
        with pytest.raises(WorkflowCancelled, match="not needed any more"):
            run.result()

    def test_they_pass_through_the_bodys_except_exception_and_out_of_steps_unrecorded(self, drain):
        @step
        def give_up():
            raise Fail("enough")

        @workflow
        def body():
            try:
                give_up()
            except Exception:
                return "swallowed"

        run = body.enqueue()
        drain()
        assert run.status == Status.ERROR
        assert not StepOutput.objects.exists()


class TestWhatCannotBeRun:
    def test_a_run_whose_code_is_not_here_waits_longer_each_time_and_no_claim_is_counted(self, drain):
        run = echo.enqueue()
        WorkflowStatus.objects.filter(pk=run.id).update(name="gone.app")
        waits = []
        for age in (0, 1000, 4000, 10**6):
            WorkflowStatus.objects.filter(pk=run.id).update(
                created_at=row(run).updated_at - timedelta(seconds=age)
            )
            drain()
            record = row(run)
            assert (record.status, record.claims, record.attempt) == (Status.DELAYED, 0, 0)
            assert "gone.app" in record.error
            waits.append((record.delay_until - record.updated_at).total_seconds())
            drain.hasten()
        assert waits == pytest.approx([5, 100, 400, 600], abs=1)

    def test_it_keeps_its_place_and_runs_once_the_code_is_here(self, drain):
        run = echo.enqueue("a")
        WorkflowStatus.objects.filter(pk=run.id).update(name="gone.app")
        place = row(run).seq
        drain()
        drain.hasten()
        assert row(run).line == place
        WorkflowStatus.objects.filter(pk=run.id).update(name=echo.name)
        drain()
        assert run.result() == "a"
        assert row(run).error is None

    def test_a_payload_of_another_serializer_is_left_to_who_can_read_it(self, drain):
        run = echo.enqueue()
        WorkflowStatus.objects.filter(pk=run.id).update(serialization="msgpack", input="\\x93")
        drain()
        record = row(run)
        assert (record.status, record.claims, record.input) == (Status.DELAYED, 0, "\\x93")
        assert "msgpack" in record.error

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", '{"args": 1}', '{"args": [{"$": "nothing", "v": 1}]}']
    )
    def test_an_input_that_cannot_be_read_fails_once(self, drain, text):
        run = echo.using(max_attempts=5).enqueue()
        WorkflowStatus.objects.filter(pk=run.id).update(input=text)
        drain()
        record = row(run)
        assert (record.status, record.claims) == (Status.ERROR, 1)
        assert "cannot be read" in record.error

    def test_arguments_that_do_not_fit_fail_once(self, drain):
        @workflow(max_attempts=5)
        def body(one):
            return one

        run = body.enqueue(1)
        WorkflowStatus.objects.filter(pk=run.id).update(input='{"args": [1, 2], "kwargs": {}}')
        drain()
        assert run.status == Status.ERROR
        with pytest.raises(TypeError):
            run.result()

    def test_a_name_that_could_be_imported_is_not(self, drain):
        run = echo.enqueue("id")
        WorkflowStatus.objects.filter(pk=run.id).update(name="os.system")
        drain()
        assert run.status == Status.DELAYED

    def test_one_that_was_claimed_too_often_is_parked_without_running(self, drain):
        hits = []

        @workflow
        def body():
            hits.append(1)

        run = body.enqueue()
        WorkflowStatus.objects.filter(pk=run.id).update(claims=100)
        drain()
        assert (run.status, hits) == (Status.SUCCESS, [1])  # the 101st dispatch is the last allowed
        run = body.enqueue()
        WorkflowStatus.objects.filter(pk=run.id).update(claims=101)
        drain()
        assert (run.status, hits) == (PARKED, [1])
        with pytest.raises(WorkflowParked):
            run.result()


def test_a_recorded_error_that_cannot_be_read_back_is_raised_as_what_can_be_read(drain, die_once):
    caught: list[str] = []

    @workflow
    def body():
        try:
            raise_nothing()
        except StepFailed as error:
            caught.append(str(error))

    @step(name="nothing")
    def raise_nothing():
        raise AssertionError("it is recorded, so it does not run")

    run = body.enqueue()
    StepFactory(workflow=row(run), step=1, name="nothing", output=None, error="not even JSON")
    drain()
    assert run.status == Status.SUCCESS
    assert "not even JSON" in caught[0]
