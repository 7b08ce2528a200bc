"""A fork or a rewind to a number of the body: branches that began before keep what they recorded."""

from __future__ import annotations

import asyncio

import pytest

from django_durable import (
    arecv,
    aset_event,
    awrite_stream,
    control,
    get_event,
    read_stream,
    send,
    step,
    workflow,
)
from django_durable.core.branches import FIRST, WIDTH
from django_durable.engine.execution.replay import replay
from django_durable.models import Message, StepOutput

pytestmark = pytest.mark.django_db
hits: list[str] = []
BEFORE, AFTER = FIRST + WIDTH, FIRST + 3 * WIDTH


@step
def do(what: str) -> str:
    hits.append(what)
    return what


@pytest.fixture
def run(drain):
    """1, two branches, 2, a branch, 3."""

    @workflow(name="cuts.branches")
    async def body():
        async def branch(who):
            await do.acall(who)
            got = await arecv(who)
            await aset_event("who", who)
            await awrite_stream("log", who)
            return await do.acall(f"{who} {got}")

        await aset_event("who", "the body")
        first = await asyncio.gather(branch("a"), branch("b"))
        await do.acall("between")
        second = await asyncio.gather(branch("c"))
        await do.acall("last")
        return [*first, *second]

    hits.clear()
    run = body.enqueue()
    for topic in ("a", "b", "c"):
        send(run, 1, topic)
    drain()
    assert run.result() == ["a 1", "b 1", "c 1"]
    assert [number for number in numbers(run) if number < FIRST] == [1, 2, 3]
    hits.clear()
    return run


def numbers(run):
    return list(StepOutput.objects.filter(workflow_id=run.id).values_list("step", flat=True).order_by("step"))


def log(run):
    return list(read_stream(run, "log"))


def test_a_rewind_between_branches_keeps_those_before(run, drain):
    control.rewind([run.id], to_step=2)
    assert [number for number in numbers(run) if number < FIRST] == [1]
    assert max(numbers(run)) < AFTER
    assert get_event(run, "who") in ("a", "b")
    assert Message.objects.get(workflow_id=run.id, consumed_step=None).topic == "c"
    drain()
    assert run.result() == ["a 1", "b 1", "c 1"]
    assert hits == ["between", "c", "c 1", "last"]
    assert replay(run.id, "default").fits


def test_a_fork_between_branches_takes_those_before_with_it(run, drain):
    copy = run.fork(2)
    assert get_event(copy, "who") in ("a", "b")
    assert numbers(copy) == [number for number in numbers(run) if number == 1 or BEFORE <= number < AFTER]
    send(copy, 2, "c")
    drain()
    assert copy.result() == ["a 1", "b 1", "c 2"]
    assert hits == ["between", "c", "c 2", "last"]


def test_the_event_of_a_branch_is_that_which_was_set_last(run):
    """Its number is above each of the body, and it was not the last to set."""

    control.rewind([run.id], to_step=3)
    assert get_event(run, "who") == "c"
    assert get_event(run.fork(3), "who") == "c"


def test_from_1_on_all_is_repeated(run, drain):
    assert numbers(run.fork(1)) == []
    control.rewind([run.id], to_step=1)
    assert numbers(run) == []
    assert Message.objects.filter(workflow_id=run.id, consumed_step=None).count() == 3


def test_an_event_that_the_body_set_after_a_branch_is_what_a_fork_and_a_rewind_restore(drain):
    @workflow(name="cuts.events")
    async def body():
        async def branch():
            await aset_event("who", "a branch")

        await do.acall("before")
        await asyncio.gather(branch())
        await aset_event("who", "the body")
        await do.acall("last")

    run = body.enqueue()
    drain()
    assert get_event(run.fork(3), "who") == "the body"
    control.rewind([run.id], to_step=3)
    assert get_event(run, "who") == "the body"
