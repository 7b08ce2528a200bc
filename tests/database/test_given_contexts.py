"""Tasks that are started with a context of their own count their calls apart, like all others."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, copy_context

import pytest

from django_durable import step, workflow

pytestmark = pytest.mark.django_db
seen: list[object] = []
tenant = ContextVar("tenant", default="nobody")


@pytest.fixture(autouse=True)
def _nothing_was_seen() -> None:
    seen.clear()


async def started_with_copies(branches):
    return await asyncio.gather(*[asyncio.create_task(each, context=copy_context()) for each in branches])


async def in_a_group(branches):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each, context=copy_context()) for each in branches]
    return [task.result() for task in tasks]


async def started_with_one_for_all(branches):
    context = copy_context()
    return await asyncio.gather(*[asyncio.create_task(each, context=context) for each in branches])


@pytest.mark.parametrize("start", [started_with_copies, in_a_group, started_with_one_for_all])
def test_each_gets_its_own_results_at_a_replay(die_once, start):
    gates: list[asyncio.Event] = [asyncio.Event()]

    @step
    async def work(number):
        if number == 1 and not seen:
            await gates[0].wait()
        return number

    async def branch(number):
        got = [await work(number), await work(number * 10)]
        gates[0].set()
        return got

    @workflow
    async def branching():
        got = await start([branch(1), branch(2)])
        seen.append(got)
        die_once()
        return got

    run = die_once.then_run(branching.enqueue())
    assert run.result() == [[1, 10], [2, 20]]
    assert seen == [run.result()] * 2


def test_what_a_task_sets_in_the_context_that_it_was_given_is_there(drain):
    @step
    async def work():
        return tenant.get()

    async def branch():
        tenant.set("acme")
        return await work()

    @workflow
    async def branching():
        context = copy_context()
        return [await asyncio.create_task(branch(), context=context), context[tenant], tenant.get()]

    run = branching.enqueue()
    drain()
    assert run.result() == ["acme", "acme", "nobody"]
