"""A recorded step never runs again; what it gave or raised comes back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from django_durable import control, step, step_context, workflow, workflow_id
from django_durable.exceptions import NotSerializable, OutsideWorkflow, StepFailed, StepRetriesExhausted
from django_durable.models import StepOutput

RESULTS: list[object] = [
    None,
    False,
    0,
    0.0,
    "",
    b"",
    (),
    [],
    {},
    set(),
    Decimal("0"),
    datetime(2026, 1, 1, 12, tzinfo=UTC),
]


class DeclaredFault(Exception):
    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@pytest.mark.parametrize("result", RESULTS, ids=repr)
def test_a_recorded_result_comes_back_with_its_type_and_the_step_does_not_run_again(die_once, result):
    hits = []

    @step
    def give():
        hits.append(1)
        return result

    @workflow
    def body():
        given = give()
        die_once()
        return given

    run = die_once.then_run(body.enqueue())
    assert hits == [1]
    assert run.result() == result
    assert type(run.result()) is type(result)


def test_a_replay_reads_its_history_and_runs_only_what_is_not_there(die_once):
    hits = []

    @step
    def mark(place):
        hits.append(place)
        return place

    @workflow
    def body():
        first = [mark("a"), mark("b")]
        die_once()
        return [*first, mark("c")]

    assert die_once.then_run(body.enqueue()).result() == ["a", "b", "c"]
    assert hits == ["a", "b", "c"]


def test_an_error_is_a_recorded_result_that_is_raised_again_with_its_type_and_parts(die_once):
    hits = []
    caught = []

    @step
    def refuse():
        hits.append(1)
        raise DeclaredFault(7, "no")

    @workflow
    def body():
        try:
            refuse()
        except DeclaredFault as error:
            caught.append((type(error), error.code, error.detail, str(error)))
        die_once()

    die_once.then_run(body.enqueue())
    assert hits == [1]
    assert caught == [(DeclaredFault, 7, "no", "7: no")] * 2


def test_an_error_whose_class_is_not_importable_is_raised_again_as_what_is_known_of_it(die_once):
    class LocalFault(Exception):
        pass

    caught = []

    @step
    def refuse():
        raise LocalFault("no")

    @workflow
    def body():
        try:
            refuse()
        except Exception as error:
            caught.append(error)
        die_once()

    die_once.then_run(body.enqueue())
    first, again = caught
    assert type(first) is LocalFault
    assert type(again) is StepFailed
    assert again.path.endswith("LocalFault")
    assert again.message == "no"
    assert "raise LocalFault" in again.traceback


def test_a_result_that_cannot_be_stored_is_the_steps_failure_and_it_does_not_run_again(die_once):
    hits = []
    caught = []

    @step
    def give():
        hits.append(1)
        return {"k": [object()]}

    @workflow
    def body():
        try:
            give()
        except NotSerializable as error:
            caught.append(str(error))
        die_once()
        return "went on"

    assert die_once.then_run(body.enqueue()).result() == "went on"
    assert hits == [1]
    assert len(caught) == 2
    assert caught[0] == caught[1]
    assert "the result of step" in caught[0]
    assert "['k'][0]" in caught[0]


def test_a_step_inside_a_step_is_a_plain_call_and_has_no_checkpoint(drain):
    @step
    def inner():
        return step_context().name

    @step
    def outer():
        return inner()

    @workflow
    def body():
        return outer()

    run = body.enqueue()
    drain()
    assert run.result().endswith("inner")
    assert list(StepOutput.objects.values_list("step", "name")) == [(1, outer.name)]


def test_a_step_outside_a_workflow_is_a_plain_call_and_its_retries_are_honoured(db):
    tries = []

    @step(max_attempts=3, interval=0)
    def third_time():
        tries.append(step_context().attempt)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "done"

    assert third_time() == "done"
    assert tries == [1, 2, 3]
    assert not StepOutput.objects.exists()
    with pytest.raises(OutsideWorkflow):
        step_context()


def test_a_step_that_fails_is_tried_again_until_it_succeeds_and_recorded_once(drain):
    tries = []

    @step(max_attempts=4, interval=0)
    def third_time():
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("not yet")
        return "done"

    @workflow
    def body():
        return third_time()

    run = body.enqueue()
    drain()
    assert run.result() == "done"
    checkpoint = StepOutput.objects.get()
    assert (checkpoint.attempts, checkpoint.error) == (3, None)


def test_a_step_that_never_succeeds_raises_every_error_it_met(drain):
    tries = []
    caught = []

    @step(max_attempts=3, interval=0)
    def never():
        tries.append(1)
        raise ValueError(f"try {len(tries)}")

    @workflow
    def body():
        try:
            never()
        except StepRetriesExhausted as error:
            caught.append([str(each) for each in error.errors])
            raise

    run = body.enqueue()
    drain()
    assert caught == [["try 1", "try 2", "try 3"]]
    with pytest.raises(StepRetriesExhausted) as raised:
        run.result()
    assert [str(error) for error in raised.value.errors] == ["try 1", "try 2", "try 3"]


@pytest.mark.parametrize("retry_on", [KeyError, (KeyError, IndexError), lambda error: "again" in str(error)])
def test_an_error_that_is_not_to_be_retried_is_raised_as_it_is(drain, retry_on):
    tries = []

    @step(max_attempts=5, interval=0, retry_on=retry_on)
    def refuse():
        tries.append(1)
        raise ValueError("never")

    @workflow
    def body():
        refuse()

    run = body.enqueue()
    drain()
    assert tries == [1]
    with pytest.raises(ValueError, match="never"):
        run.result()


def test_the_idempotency_key_is_the_same_at_every_attempt_and_replay_and_differs_between_steps(die_once):
    keys = []

    @step(max_attempts=2, interval=0)
    def charge(amount, *, idempotency_key=""):
        keys.append((amount, idempotency_key))
        if len(keys) == 1:
            raise ValueError("not yet")
        die_once()

    @workflow
    def body():
        charge(1)
        charge(2)

    run = body.using(id="order-7").enqueue()
    die_once.then_run(run)
    assert [amount for amount, _ in keys] == [1, 1, 1, 2]  # failed, died, done
    first, second = {key for amount, key in keys if amount == 1}, keys[-1][1]
    assert len(first) == 1
    assert second not in first
    assert second.startswith("order-7")


@pytest.mark.parametrize("way", ["retry", "rewind"])
def test_another_step_at_the_number_of_a_dropped_one_has_another_idempotency_key(drain, way):
    keys: dict[str, list[str]] = {"charge": [], "refund": []}
    calls_off, fails = False, way == "retry"

    @step
    def charge(*, idempotency_key=""):
        keys["charge"].append(idempotency_key)
        if fails:
            raise ValueError("declined")

    @step
    def refund(*, idempotency_key=""):
        keys["refund"].append(idempotency_key)

    @workflow
    def body():
        return refund() if calls_off else charge()

    run = body.enqueue()
    drain()
    fails = False
    control.retry(run) if way == "retry" else control.rewind(run, to_step=1)
    drain()
    calls_off = True
    control.rewind(run, to_step=1)
    drain()
    assert len(keys["charge"]) == 2
    assert len(set(keys["charge"])) == 1  # the same step, done again, is the same one
    assert not set(keys["refund"]) & set(keys["charge"])


def test_a_step_that_needs_an_idempotency_key_gets_one_outside_and_inside_another_step(drain):
    keys = []

    @step(max_attempts=2, interval=0)
    def charge(amount, *, idempotency_key):
        keys.append(idempotency_key)
        if len(keys) % 2:
            raise ValueError("not yet")
        return amount

    @step
    def order():
        return charge(1), charge(2)  # type: ignore[call-arg]

    @workflow
    def body():
        return order()

    assert charge(3) == 3  # type: ignore[call-arg]
    run = body.enqueue()
    drain()
    assert run.result() == (1, 2)
    assert keys[::2] == keys[1::2]  # the same at every attempt
    assert len(set(keys)) == 3
    assert all(keys)


def test_an_async_step_that_needs_an_idempotency_key_gets_one_outside():
    @step
    async def charge(*, idempotency_key):
        return idempotency_key

    first, second = (asyncio.run(charge()) for _ in range(2))  # type: ignore[call-arg]
    assert first != second
    assert first
    assert second


def test_an_idempotency_key_that_the_caller_gives_or_a_plain_call_has_a_default_for_is_kept(drain):
    @step
    def charge(amount, idempotency_key="plain"):
        return idempotency_key

    @workflow
    def body():
        return charge(1, "by position"), charge(1, idempotency_key="by name"), charge(1)

    run = body.using(id="order-7").enqueue()
    drain()
    assert run.result()[:2] == ("by position", "by name")
    assert run.result()[2].startswith("order-7-3-")
    assert charge(1) == "plain"


def test_a_method_can_be_a_step_and_a_step_is_told_which_run_it_serves(drain):
    class Shop:
        @step
        def ship(self, parcel):
            return [parcel, workflow_id(), step_context().number]

    @workflow
    def body():
        return Shop().ship("p")

    run = body.using(id="w").enqueue()
    drain()
    assert run.result() == ["p", "w", 1]
