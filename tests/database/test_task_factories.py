"""Tasks of an async body that another factory made: counted all the same, or refused in words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import UncountedTask

pytestmark = pytest.mark.django_db


def plain(loop, work, **options):
    return asyncio.Task(work, loop=loop, **options)


FOREIGN = [plain, *([asyncio.eager_task_factory] if hasattr(asyncio, "eager_task_factory") else [])]


@step
async def work(what, turns=0):
    for _ in range(turns):
        await asyncio.sleep(0)
    return what


async def both(name, turns):
    return [await work(f"{name}1", turns), await work(f"{name}2")]


async def race():
    branches = [both("slow", 50), both("quick", 0)]
    return await asyncio.gather(*[asyncio.create_task(branch) for branch in branches])


@pytest.mark.parametrize("factory", FOREIGN)
def test_calls_in_tasks_of_another_factory_are_refused(drain, factory):
    @workflow
    async def racing():
        asyncio.get_running_loop().set_task_factory(factory)
        return await race()

    run = racing.enqueue()
    drain()
    assert run.status == Status.ERROR
    with pytest.raises(UncountedTask, match="start it with asyncio"):
        run.result()


def test_a_factory_that_calls_the_one_before_is_fine(die_once):
    @workflow
    async def racing():
        loop = asyncio.get_running_loop()
        before: Any = loop.get_task_factory()
        loop.set_task_factory(lambda loop, work, **options: before(loop, work, **options))
        got = await race()
        die_once()
        return got

    run = die_once.then_run(racing.enqueue())
    assert run.result() == [["slow1", "slow2"], ["quick1", "quick2"]]


def test_a_task_without_a_factory_is_refused_as_is_one_that_shares_a_branch(drain):
    @workflow
    async def straying():
        async def branch():
            await work("own")
            return await asyncio.Task(both("another", 0))

        return await asyncio.create_task(branch())

    run = straying.enqueue()
    drain()
    with pytest.raises(UncountedTask):
        run.result()
