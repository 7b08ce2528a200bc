"""Branches of an async body that make several calls each: a replay gives every branch its own results."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import permutations

import pytest

from django_durable import (
    aget_event,
    apatch,
    arecv,
    aset_event,
    asleep,
    control,
    get_event,
    send,
    step,
    workflow,
    workflow_id,
)
from django_durable.core.branches import FIRST, LAST, SCATTERED, WIDTH, number_of
from django_durable.core.states import Status
from django_durable.exceptions import TooManyBranches, UnorderedTask
from django_durable.models import Message, StepOutput
from django_durable.testing import freeze, shift

pytestmark = pytest.mark.django_db


class Turns:
    """Lets the calls of branches come to their ends in an order of the test's choice."""

    def __init__(self) -> None:
        self.begin([])

    def begin(self, order):
        self.order = list(order)
        self.hits = []
        self.moved = asyncio.Event()

    async def come(self, who):
        while self.order and self.order[0] != who:
            self.moved.clear()
            await self.moved.wait()
        self.order[:1] = []
        self.moved.set()


turns = Turns()


@step
async def fetch(who, part):
    await turns.come(who)
    turns.hits.append((who, part))
    return f"{who}{part}"


async def branch(who):
    return [await fetch(who, 1), await fetch(who, 2)]


async def in_a_group(branches):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in branches]
    return [task.result() for task in tasks]


async def as_they_end(branches):
    tasks = [asyncio.create_task(each) for each in branches]
    return sorted([await ended for ended in asyncio.as_completed(tasks)])


async def gathered(branches):
    return list(await asyncio.gather(*branches))


@pytest.mark.parametrize("together", [gathered, in_a_group, as_they_end])
@pytest.mark.parametrize("order", sorted(set(permutations("aabb"))), ids="".join)
def test_each_branch_gets_its_own_results_again_in_whatever_order_they_first_came(die_once, together, order):
    results = []

    @workflow(name="branches.two")
    async def body():
        results.append(await together([branch("a"), branch("b")]))
        die_once()

    turns.begin(order)
    run = die_once.then_run(body.enqueue())
    assert run.status == Status.SUCCESS
    assert results == [[["a1", "a2"], ["b1", "b2"]]] * 2
    assert len(turns.hits) == 4


def test_a_branch_that_died_in_the_middle_goes_on_with_the_key_it_had(die_once):
    keys = []

    @step
    def charge(who, *, idempotency_key):
        keys.append((who, idempotency_key))
        if who == "a":
            die_once()
        return who

    @workflow(name="branches.keys")
    async def body():
        async def pay(who):
            await fetch(who, 1)
            return await charge.acall(who)  # type: ignore[call-arg]  # the key is filled in

        return await asyncio.gather(pay("a"), pay("b"))

    turns.begin("ba")
    run = die_once.then_run(body.enqueue())
    assert run.result() == ["a", "b"]
    of_a = {key for who, key in keys if who == "a"}
    assert (len(of_a), len(keys)) == (1, len(set(keys)) + 1)


def test_branches_that_sleep_and_receive_leave_together_and_find_their_own_again(drain):
    @workflow(name="branches.waits")
    async def body():
        async def one(topic, days):
            first = await arecv(topic)
            await asleep(timedelta(days=days))
            return [first, await arecv(topic)]

        return await asyncio.gather(one("a", 2), one("b", 1))

    run = body.enqueue()
    with freeze():
        for message, topic, passed in (("b1", "b", 1), ("a1", "a", 3), ("a2", "a", 0), ("b2", "b", 0)):
            drain()
            send(run, message, topic)
            drain()
            shift(timedelta(days=passed))
        drain()
    assert run.result() == [["a1", "a2"], ["b1", "b2"]]


def test_what_a_step_starts_is_no_branch(die_once):
    @step
    async def start_some():
        await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))

    results = []

    @workflow(name="branches.inside")
    async def body():
        await start_some()
        results.append(await gathered([branch("a"), branch("b")]))
        die_once()

    turns.begin("")
    assert die_once.then_run(body.enqueue()).status == Status.SUCCESS
    assert results == [[["a1", "a2"], ["b1", "b2"]]] * 2
    assert len(turns.hits) == 4


def test_branches_of_branches_and_calls_beside_them(die_once):
    results = []

    @workflow(name="branches.nested")
    async def body():
        async def both(who):
            return await gathered([branch(f"{who}x"), branch(f"{who}y")])

        beside = asyncio.create_task(both("a"))
        own = await fetch("own", 0)
        results.append([await beside, own, await branch("body")])
        die_once()

    turns.begin("")
    assert die_once.then_run(body.enqueue()).status == Status.SUCCESS
    expected = [[["ax1", "ax2"], ["ay1", "ay2"]], "own0", ["body1", "body2"]]
    assert results == [expected, expected]
    assert len(turns.hits) == 7


def test_the_body_counts_on_as_if_there_were_no_branches(drain):
    @workflow(name="branches.counts")
    async def body():
        await fetch("before", 0)
        await gathered([branch("a")])
        await fetch("after", 0)

    turns.begin("")
    body.enqueue()
    drain()
    numbers = StepOutput.objects.order_by("step").values_list("step", flat=True)
    assert list(numbers) == [1, 2, FIRST + WIDTH, FIRST + WIDTH + 1]


def test_a_retry_of_the_whole_repeats_the_failed_branch_alone(drain):
    refusals = [1]

    @step
    def charge(who):
        if who == "a" and refusals:
            raise ConnectionError(refusals.pop())
        return who

    @workflow(name="branches.retry", max_attempts=2)
    async def body():
        async def pay(who):
            await fetch(who, 1)
            return await charge.acall(who)

        await fetch("before", 0)
        paid = await asyncio.gather(pay("a"), pay("b"), return_exceptions=True)
        for each in paid:
            if isinstance(each, Exception):
                raise each
        return paid

    turns.begin("")
    run = body.enqueue()
    drain()
    drain.hasten()
    drain()
    assert run.result() == ["a", "b"]
    assert sorted(turns.hits) == [("a", 1), ("b", 1), ("before", 0)]


def test_what_a_dropped_branch_received_and_published_is_given_back(drain):
    refusals = [1]

    @step
    def refuse():
        if refusals:
            raise ConnectionError(refusals.pop())

    @workflow(name="branches.given_back", max_attempts=2)
    async def body():
        async def one():
            try:
                await refuse.acall()
            finally:
                await aset_event("stage", await arecv())

        await asyncio.gather(one())
        return await aget_event(workflow_id(), "stage")

    run = body.enqueue()
    send(run, "early")
    drain()
    assert get_event(run, "stage") is None
    assert Message.objects.filter(consumed_step=None).count() == 1
    drain.hasten()
    drain()
    assert run.result() == "early"


def test_a_patch_in_a_branch_is_told_by_the_history_of_the_branch(die_once):
    taken = []

    @workflow(name="branches.patched")
    async def body():
        async def one(who):
            await fetch(who, 1)
            taken.append(await apatch("new"))
            return await fetch(who, 2)

        await gathered([one("a"), one("b")])
        die_once()

    turns.begin("ba")
    assert die_once.then_run(body.enqueue()).status == Status.SUCCESS
    assert taken == [True] * 4


def test_a_replay_by_hand_finds_nothing_left_of_branches(drain):
    @workflow(name="branches.replayed")
    async def body():
        return await gathered([branch("a"), branch("b")])

    turns.begin("ba")
    run = body.enqueue()
    drain()
    assert control.replay(run).divergence == ""


def test_coroutines_that_are_started_in_no_order_are_refused_with_what_to_do(drain):
    @workflow(name="branches.unordered")
    async def body():
        return [await ended for ended in asyncio.as_completed([branch("a"), branch("b")])]

    turns.begin("")
    run = body.enqueue()
    drain()
    assert turns.hits == []
    with pytest.raises(UnorderedTask, match="make tasks first"):
        run.result()


def test_numbers_are_those_of_a_place_and_never_meet_within_the_first_level():
    numbers = [number_of((task,), call) for task in range(1, 50) for call in range(1, WIDTH + 1)]
    assert len(set(numbers)) == len(numbers)
    assert all(FIRST <= number < SCATTERED for number in numbers)
    beyond = [number_of((1,), WIDTH + 1), number_of((10**6 * 2,), 1), number_of((1, 1), 1)]
    assert all(SCATTERED <= number < LAST for number in beyond)


def test_two_calls_that_fall_on_one_number_are_refused(drain, monkeypatch):
    monkeypatch.setattr("django_durable.core.branches.number_of", lambda path, call: 5 if path else call)

    @workflow(name="branches.collide")
    async def body():
        return await gathered([branch("a")])

    turns.begin("")
    run = body.enqueue()
    drain()
    with pytest.raises(TooManyBranches, match="child workflows"):
        run.result()
