"""An async body that gives a durable call up: a replay gives up the same one, whatever it would give."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from django_durable import arecv, send, step, workflow
from django_durable.core.states import Status
from django_durable.engine.execution import giving_up
from django_durable.engine.execution.context import GIVEN_UP, surrounding
from django_durable.engine.execution.replay import replay
from django_durable.models import Message, StepOutput
from tests.testapp.models import Ledger

pytestmark = pytest.mark.django_db
calls: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_was_called() -> None:
    calls.clear()


def until_given_up() -> None:
    """The first call lasts until the body has given it up."""
    while len(calls) == 1 and not surrounding().given_up:
        Event().wait(0.001)


@step
async def patient() -> int:
    calls.append("patient")
    if len(calls) == 1:
        await asyncio.Event().wait()
    return 7


@step
def blocking() -> int:
    calls.append("blocking")
    until_given_up()
    return 7


@step(atomic=True)
def booking() -> int:
    calls.append("booking")
    Ledger.objects.create(run_id="given-up", step="booking", amount=7)
    until_given_up()
    return 7


@step
def note(what: object) -> object:
    return what


async def under_a_timeout(slow):
    async with asyncio.timeout(0.02):
        return await slow.acall() if slow is not patient else await patient()


async def waited_for(slow):
    return await asyncio.wait_for(slow.acall() if slow is not patient else patient(), 0.02)


async def cancelled(slow):
    task = asyncio.create_task(under_no_timeout(slow))
    await asyncio.wait([task], timeout=0.02)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        raise TimeoutError from None


async def under_no_timeout(slow):
    return await slow.acall() if slow is not patient else await patient()


@pytest.mark.parametrize("mean", [under_a_timeout, waited_for, cancelled])
@pytest.mark.parametrize("slow", [patient, blocking, booking], ids=["async", "blocking", "atomic"])
def test_a_replay_takes_the_way_of_who_gave_a_call_up(die_once, mean, slow):
    @workflow
    async def hasty():
        try:
            got = await mean(slow)
        except TimeoutError:
            got = "late"
        noted = await note.acall(got)
        die_once()
        return [got, noted]

    run = die_once.then_run(hasty.enqueue())
    assert run.result() == ["late", "late"]
    assert len(calls) == 1
    assert StepOutput.objects.get(workflow_id=run.id, name=GIVEN_UP).error is not None
    assert not Ledger.objects.filter(run_id="given-up").exists()
    assert replay(run.id, "default").fits


def test_a_call_that_nobody_gives_up_again_is_made(die_once, monkeypatch):
    monkeypatch.setattr(giving_up, "MARGIN", 0.01)
    is_hasty = [True, False]

    @workflow
    async def changed():
        async with asyncio.timeout(0.02 if is_hasty.pop(0) else None):
            try:
                return await patient()
            except asyncio.CancelledError:
                die_once()

    run = die_once.then_run(changed.enqueue())
    assert run.result() == 7
    assert [step.name for step in StepOutput.objects.filter(workflow_id=run.id)] == [patient.name]


def test_another_call_at_the_number_of_one_given_up_is_refused(die_once):
    steps = [patient, blocking]

    @workflow
    async def changed():
        try:
            await under_a_timeout(steps.pop(0))
        except TimeoutError:
            die_once()

    run = die_once.then_run(changed.enqueue())
    assert run.status == Status.ERROR
    assert "UnexpectedStep" in run.record.error
    assert "patient" in run.record.error


def test_a_message_that_comes_to_who_gave_up_is_left_for_the_next(drain, die_once):
    @workflow
    async def listener():
        other = asyncio.create_task(under_no_timeout(patient))  # keeps the body with its worker
        try:
            got = await asyncio.wait_for(arecv("a"), 0.02)
        except TimeoutError:
            got = "none"
        other.cancel()
        await note.acall(got)
        die_once()
        return [got, await arecv("a")]

    run = listener.enqueue()
    (claimed,) = drain.claim()
    drain.run_until_death(claimed)
    send(run.id, "hello", "a")
    drain.recover()
    drain()
    assert run.result() == ["none", "hello"]
    assert Message.objects.get(workflow_id=run.id).consumed_step is not None


def test_a_retry_of_the_whole_makes_the_call_again_that_it_ended_with(drain):
    @workflow(max_attempts=2)
    async def hasty():
        return await under_a_timeout(patient)

    run = hasty.enqueue()
    drain()
    drain.hasten()
    drain()
    assert run.result() == 7


def test_a_retry_of_the_whole_makes_the_calls_again_that_its_failure_cut_short(drain):
    @step
    async def fails_once():
        calls.append("fails_once")
        if calls.count("fails_once") == 1:
            while "patient" not in calls:
                await asyncio.sleep(0)
            raise ValueError("once")
        return 1

    @workflow(max_attempts=2)
    async def together():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call()) for call in (patient, fails_once)]
        return [task.result() for task in tasks]

    run = together.enqueue()
    drain()
    drain.hasten()
    drain()
    assert run.result() == [7, 1]
