"""Async bodies and steps: the same calls, numbered when they are made."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync

from django_durable import (
    Cancel,
    Fail,
    Snooze,
    agather,
    aget_event,
    arecv,
    asend,
    aset_event,
    asleep,
    get_event,
    recv,
    send,
    sleep,
    step,
    step_context,
    workflow,
    workflow_id,
)
from django_durable.core.states import Status
from django_durable.exceptions import (
    AsyncBodyNeeded,
    AwaitNeeded,
    InvalidOption,
    StepRetriesExhausted,
    StepTimeout,
)
from django_durable.models import StepOutput, WorkflowStatus

pytestmark = pytest.mark.django_db


def names_of(run):
    return list(StepOutput.objects.filter(workflow_id=run.id).order_by("step").values_list("step", "name"))


def test_async_and_sync_steps_run_in_an_async_body(drain):
    @step
    async def fetch(number):
        await asyncio.sleep(0)
        return number

    @step(atomic=True)
    def book(number):
        return number + 1

    @workflow(name="mixes")
    async def mixes():
        return [await fetch(1), await book.acall(1)]

    run = mixes.enqueue()
    drain()
    assert run.result() == [1, 2]


def test_concurrent_steps_are_numbered_in_the_order_of_their_calls(drain):
    done = []
    gates = []

    @step
    async def first():
        await asyncio.wait_for(gates[0].wait(), 5)
        done.append("first")
        return "a"

    @step
    async def second():
        done.append("second")
        gates[0].set()
        return "b"

    @workflow(name="gathers")
    async def gathers():
        gates[:] = [asyncio.Event()]
        return await asyncio.gather(first(), second())

    run = gathers.enqueue()
    drain()
    assert done == ["second", "first"]
    assert run.result() == ["a", "b"]
    steps = [(1, "first"), (2, "second")]
    assert [(number, name.rpartition(".")[2]) for number, name in names_of(run)] == steps


def test_a_replay_of_an_async_body_runs_no_recorded_step_again(drain):
    hits = []

    @step
    async def effect(name):
        hits.append(name)
        return name

    @workflow(name="replays")
    async def replays():
        both = list(await asyncio.gather(effect("a"), effect("b")))
        both.append(await arecv("go"))
        return both

    run = replays.enqueue()
    drain()
    assert run.status == Status.WAITING
    send(run.id, "c", "go")
    drain()
    assert run.result() == ["a", "b", "c"]
    assert sorted(hits) == ["a", "b"]


def test_branches_that_wait_for_different_things_leave_together_and_wake_for_the_first(drain):
    @workflow(name="waits")
    async def waits():
        return await asyncio.gather(arecv("a", timeout=3600), arecv("b", timeout=7200))

    run = waits.enqueue()
    drain()
    row = run.record
    assert (row.status, row.wait_topic) == (Status.WAITING, "any")
    assert row.wake_at - row.updated_at < timedelta(hours=1, minutes=1)
    send(run.id, 2, "b")
    drain()
    assert run.status == Status.WAITING
    send(run.id, 1, "a")
    drain()
    assert run.result() == [1, 2]


def test_a_branch_that_waits_does_not_stop_the_steps_of_another(drain):
    @step
    async def effect(number):
        await asyncio.sleep(0)
        return number

    async def works():
        return [await effect(number) for number in range(4)]

    @workflow(name="works")
    async def body():
        return await asyncio.gather(arecv("a"), works())

    run = body.enqueue()
    drain()
    assert run.status == Status.WAITING
    assert len(names_of(run)) == 4
    send(run.id, "x", "a")
    drain()
    assert run.result() == ["x", [0, 1, 2, 3]]


def test_a_blocking_call_in_an_async_body_is_refused_with_its_twin(drain):
    @step
    def blocks():
        return 1

    @workflow(name="wrong")
    async def wrong():
        told = []
        for call in (lambda: sleep(1), lambda: recv("a"), lambda: blocks()):
            try:
                call()
            except AwaitNeeded as error:
                told.append(str(error))
        return told

    run = wrong.enqueue()
    drain()
    told = run.result()
    assert ["await asleep()" in told[0], "await arecv()" in told[1], len(told)] == [True, True, 3]
    assert names_of(run) == []


def test_an_async_child_and_its_parent(drain):
    @workflow(name="child")
    async def child(number):
        await asleep(0)
        return number

    @workflow(name="parent")
    async def parent():
        handles = [await child.aenqueue(n) for n in range(2)]
        return [await child(7), await agather(*handles), await handles[0].aresult()]

    run = parent.enqueue()
    drain()
    assert run.result() == [7, [0, 1], 0]


def test_a_sync_body_runs_an_async_step_to_its_end(drain):
    @step
    async def fetch():
        await asyncio.sleep(0)
        return "fetched"

    @workflow(name="sync")
    def body():
        return fetch()

    run = body.enqueue()
    drain()
    assert run.result() == "fetched"


def test_an_async_attempt_that_takes_too_long_is_really_cancelled(drain):
    ended = []

    @step(timeout=0.02)
    async def hangs():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(step_context().attempt)

    @workflow(name="hangs")
    async def body():
        try:
            await hangs()
        except StepTimeout as error:
            return str(error)

    run = body.enqueue()
    drain()
    assert "took longer than 0.02 s" in run.result()
    assert ended == [1]


def test_a_sync_attempt_is_told_how_long_it_has(drain):
    @step(timeout=60)
    def works():
        return step_context().remaining()

    @workflow(name="sync")
    def body():
        return works()

    run = body.enqueue()
    drain()
    assert 50 < run.result() <= 60


def test_async_retries_and_their_end(drain):
    @step(max_attempts=3, interval=0)
    async def fails():
        raise ValueError(step_context().attempt)

    @workflow(name="fails")
    async def body():
        await fails()

    run = body.enqueue()
    drain()
    with pytest.raises(StepRetriesExhausted) as raised:
        run.result()
    assert [error.args for error in raised.value.errors] == [(1,), (2,), (3,)]


def test_a_child_whose_start_is_cancelled_was_started_whole_or_not_at_all(drain):
    @workflow(name="child")
    def child(number):
        return number

    @workflow(name="parent")
    async def parent():
        for turns in range(12):
            task = asyncio.create_task(start(turns))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return "whole"

    async def start(number):
        return await child.aenqueue(number)

    run = parent.enqueue()
    drain()
    assert run.result() == "whole"
    children = WorkflowStatus.objects.filter(name="child")
    assert all((each.parent_id, each.id) == (run.id, f"{run.id}-{each.parent_step}") for each in children)
    recorded = StepOutput.objects.filter(workflow_id=run.id).values_list("child", flat=True)
    assert {child for child in recorded if child is not None} == {each.id for each in children}


@pytest.mark.parametrize("error", [asyncio.CancelledError, StopIteration, GeneratorExit, SystemExit])
def test_an_odd_error_of_an_async_step_is_its_failure(drain, error):
    @step
    async def odd():
        raise error if error is not StopIteration else KeyboardInterrupt

    @workflow(name="odd")
    async def body():
        try:
            await odd()
        except BaseException as caught:
            return type(caught).__name__

    run = body.enqueue()
    drain()
    assert run.status == Status.SUCCESS
    assert StepOutput.objects.get(workflow_id=run.id).error is not None


def test_an_async_atomic_step_is_refused_where_it_is_declared():
    with pytest.raises(InvalidOption, match="async"):

        @step(atomic=True)
        async def wrong(): ...


def test_an_async_body_is_cancelled_at_its_deadline(drain):
    cleaned = []

    @workflow(name="endless")
    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(1)

    run = endless.using(deadline=datetime.now(UTC) + timedelta(seconds=0.3)).enqueue()
    drain()
    assert (run.status, cleaned) == (Status.CANCELLED, [1])


def test_the_twins_work_outside_of_bodies(drain):
    @workflow(name="publishes")
    async def publishes():
        await aset_event("stage", await arecv())

    run = publishes.enqueue()

    async def view():
        await asend(run.id, "hello")

    async_to_sync(view)()
    drain()
    assert async_to_sync(aget_event)(run.id, "stage") == "hello" == get_event(run.id, "stage")


@pytest.fixture
def number_it():
    @step
    async def number_it(number):
        for _ in range(5 - number):  # the later its call, the earlier it ends
            await asyncio.sleep(0)
        return number

    return number_it


async def by_group(calls):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


async def by_wait(calls):
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.wait(set(tasks))
    return [task.result() for task in tasks]


async def by_completion(calls):
    return sorted([await next_done for next_done in asyncio.as_completed(calls)])


@pytest.mark.parametrize("together", [by_group, by_wait, by_completion])
def test_however_calls_are_run_together_they_replay_as_they_were_made(drain, number_it, together):
    @workflow(name="together")
    async def body():
        first = await together([number_it(number) for number in range(5)])
        await arecv("go")
        return first, await together([number_it(number) for number in (3, 1)])

    run = body.enqueue()
    drain()
    assert run.status == Status.WAITING
    send(run.id, None, "go")
    drain()
    first, second = run.result()
    assert (first, sorted(second)) == ([0, 1, 2, 3, 4], [1, 3])
    recorded = StepOutput.objects.filter(workflow_id=run.id).order_by("step").values_list("output", flat=True)
    assert list(recorded) == ["0", "1", "2", "3", "4", "null", "3", "1"]


def test_waits_in_a_task_group_leave_the_worker_and_come_back(drain):
    @workflow(name="grouped")
    async def grouped():
        return await by_group([arecv("a"), arecv("b")])

    run = grouped.enqueue()
    drain()
    assert run.status == Status.WAITING
    send(run.id, 1, "a")
    send(run.id, 2, "b")
    drain()
    assert run.result() == [1, 2]


@pytest.mark.parametrize(
    ("said", "status"),
    [(Cancel("enough"), Status.CANCELLED), (Snooze(60), Status.DELAYED), (Fail("no use"), Status.ERROR)],
)
def test_what_a_body_says_inside_a_task_group_is_heard(drain, said, status):
    async def say():
        raise said

    @workflow(name="says", max_attempts=3)
    async def says():
        await by_group([say()])

    run = says.enqueue()
    drain()
    assert run.status == status


def test_a_long_wait_that_a_plain_body_awaits_is_refused_in_words(drain):
    async def waits():
        await asend(workflow_id(), "short", "topic")
        short = await arecv("topic")
        await asleep(3600)
        return short

    @workflow(name="awaits")
    def awaits():
        return async_to_sync(waits)()

    run = awaits.enqueue()
    drain()
    with pytest.raises(AsyncBodyNeeded, match="the body around it is no async def"):
        run.result()


def test_a_step_of_an_instance_is_awaited_as_any_other(drain):
    class Till:
        def __init__(self, rate):
            self.rate = rate

        @step
        def charge(self, amount):
            return self.rate * amount

        @step
        async def refund(self, amount):
            return -self.rate * amount

    @workflow(name="async.instance")
    async def body():
        till = Till(3)
        return [await till.charge.acall(2), await till.refund(amount=2), till.charge.name]

    run = body.enqueue()
    drain()
    assert run.result()[:2] == [6, -6]
    assert run.result()[2] == names_of(run)[0][1]
