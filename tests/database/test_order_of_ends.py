"""Branches of an async body race: a replay gives them their results in the order of the first time."""

from __future__ import annotations

import asyncio

import pytest

from django_durable import arecv, asleep, send, step, workflow
from django_durable.core.states import Status
from django_durable.engine.execution import deliveries
from django_durable.engine.execution.replay import replay
from django_durable.models import StepOutput
from django_durable.testing import drain as drain_all
from django_durable.testing import freeze

pytestmark = pytest.mark.django_db
ORDER = [2, 0, 3, 1]
gates: dict[int, asyncio.Event] = {}
left: list[int] = []
seen: list[list[object]] = []


@pytest.fixture(autouse=True)
def _all_gates_are_closed() -> None:
    gates.clear()
    gates.update({number: asyncio.Event() for number in ORDER})
    left[:] = ORDER
    seen.clear()


def let_the_next_end() -> None:
    if left:
        gates[left.pop(0)].set()


@step
async def work(number):
    await gates[number].wait()
    return number


@step
async def note(what):
    return what


async def as_they_come():
    got = []
    tasks = [asyncio.create_task(one(number)) for number in range(len(ORDER))]
    let_the_next_end()
    for ended in asyncio.as_completed(tasks):
        got.append(await ended)
        await note(got[-1])
        let_the_next_end()
    return got


async def the_first_each_time():
    got = []
    tasks = {asyncio.create_task(one(number)) for number in range(len(ORDER))}
    let_the_next_end()
    while tasks:
        ended, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        got.append([task.result() for task in ended])
        await note(got[-1])
        let_the_next_end()
    return got


async def each_by_itself():
    got: list[object] = []

    async def noted(number):
        got.append(await work(number))
        let_the_next_end()
        await note(list(got))

    async with asyncio.TaskGroup() as group:
        for number in range(len(ORDER)):
            group.create_task(noted(number))
        let_the_next_end()
    return got


async def through_a_queue():
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def put(number):
        await queue.put(await work(number))

    tasks = [asyncio.create_task(put(number)) for number in range(len(ORDER))]
    let_the_next_end()
    got = []
    for _ in tasks:
        got.append(await queue.get())
        await note(got[-1])
        let_the_next_end()
    return got


async def one(number):
    return await work(number)


WAYS = [as_they_come, the_first_each_time, each_by_itself, through_a_queue]


@pytest.mark.parametrize("way", WAYS)
def test_a_replay_sees_the_branches_end_in_the_order_of_the_first_time(die_once, way):
    @workflow
    async def racing():
        got = await way()
        seen.append(got)
        die_once()
        return got

    run = die_once.then_run(racing.enqueue())
    assert run.status == Status.SUCCESS
    assert seen[0] == seen[1]
    assert [number for each in seen[0] for number in (each if isinstance(each, list) else [each])] == ORDER
    assert replay(run.id, "default").fits


def test_a_call_without_a_record_ends_after_all_that_have_one(die_once):
    """It is quick the second time, and the others were there before it the first time."""

    @workflow
    async def racing():
        tasks = [asyncio.create_task(one(number)) for number in (0, 1)]
        let_the_next_end()
        ended, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        seen.append([task.result() for task in ended])
        let_the_next_end()
        die_once()
        return await asyncio.gather(*waiting)

    left[:] = [1, 0]
    run = die_once.then_run(racing.enqueue())
    assert run.result() == [0]
    assert seen == [[1], [1]]


def test_a_sleep_ends_where_it_ended_among_the_others():
    @workflow
    async def racing():
        got: list[object] = []

        async def slept():
            await asleep(3600)
            got.append("slept")

        async def heard(topic):
            got.append(await arecv(topic))

        await asyncio.gather(heard("before"), heard("after"), slept())
        seen.append(got)
        return [got, await arecv("last")]

    run = racing.enqueue()
    with freeze() as clock:
        drain_all()
        send(run.id, "early", "before")
        drain_all()
        clock.shift(3600)
        drain_all()
        for topic in ("after", "last"):
            send(run.id, topic, topic)
            drain_all()
    assert run.result() == [["early", "slept", "after"], "last"]
    assert seen == [["early", "slept", "after"]] * 2
    assert replay(run.id, "default").fits


def test_a_sleep_that_ends_while_nobody_looks_keeps_the_place_it_got():
    @workflow
    async def racing():
        got: list[object] = []

        async def slept():
            await asleep(3600)
            got.append("slept")

        async def heard():
            got.append(await arecv("topic"))

        await asyncio.gather(heard(), slept())
        seen.append(got)
        await arecv("last")

    run = racing.enqueue()
    with freeze() as clock:
        drain_all()
        clock.shift(3600)
        send(run.id, "a message", "topic")
        drain_all()
        clock.shift(3600)
        send(run.id, None, "last")
        drain_all()
    assert run.status == Status.SUCCESS
    assert len(seen) == 2
    assert seen[0] == seen[1]


def test_what_ended_after_a_call_was_given_up_waits_for_it_to_be_given_up_again(die_once):
    @workflow
    async def racing():
        got: list[object] = []

        async def hasty():
            try:
                async with asyncio.timeout(0.02):
                    await work(0)
            except TimeoutError:
                got.append("late")
            let_the_next_end()

        async def patient():
            got.append(await work(1))

        await asyncio.gather(hasty(), patient())
        seen.append(got)
        die_once()
        return got

    left[:] = [1]
    run = die_once.then_run(racing.enqueue())
    assert run.result() == ["late", 1]
    assert seen == [["late", 1]] * 2
    assert replay(run.id, "default").fits


def test_an_earlier_call_that_is_not_made_again_holds_nothing_up(die_once, monkeypatch):
    monkeypatch.setattr(deliveries, "PATIENCE", 0.001)
    branches = [[1, 0], [0]]

    @workflow
    async def changed():
        numbers = branches.pop(0)
        tasks = [asyncio.create_task(noted(number)) for number in sorted(numbers)]
        left[:] = numbers
        let_the_next_end()
        await asyncio.gather(*tasks)
        die_once()
        return len(tasks)

    async def noted(number):
        await work(number)
        let_the_next_end()

    run = die_once.then_run(changed.enqueue())
    assert run.result() == 1


def test_a_branch_that_is_cancelled_while_it_waits_for_its_turn_holds_nothing_up(die_once):
    @workflow
    async def racing():
        tasks = [asyncio.create_task(one(number)) for number in range(len(ORDER))]
        await note("the tasks have begun")
        if not die_once.alive:
            tasks[ORDER[-1]].cancel()
        for _ in ORDER:
            let_the_next_end()
        got = await asyncio.gather(*tasks, return_exceptions=True)
        die_once()
        return [number for number in got if isinstance(number, int)]

    run = die_once.then_run(racing.enqueue())
    assert run.status == Status.SUCCESS
    assert set(run.result()) >= set(range(len(ORDER))) - {ORDER[-1]}


def test_the_end_of_a_sleep_is_written_only_where_something_goes_on_beside_it():
    @workflow
    async def alone():
        await asleep(3600)

    @workflow
    async def beside():
        await asyncio.gather(asleep(3600), note(1))

    runs = [alone.enqueue(), beside.enqueue()]
    with freeze() as clock:
        drain_all()
        clock.shift(3600)
        drain_all()
    rows = [StepOutput.objects.get(workflow_id=run.id, name="durable.sleep") for run in runs]
    assert [row.completed_at.timestamp() >= float(row.output or 0) for row in rows] == [False, True]
