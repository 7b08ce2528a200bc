"""Results that come to an async body at the same moment reach its branches one after the other."""

from __future__ import annotations

import asyncio

from django_durable.engine.execution.deliveries import TURNS, Deliveries
from django_durable.engine.execution.numbering import Numbering


async def turns_of(deliveries: Deliveries, calls: int) -> list[int]:
    """In which turn of the loop each of so many calls was given, all of which ended in the same one."""
    given: list[int] = []
    turn = 0

    async def call() -> None:
        await deliveries.turn()
        given.append(turn)

    tasks = [asyncio.create_task(call()) for _ in range(calls)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        turn += 1
    return given


def test_branches_have_time_to_act_on_one_before_the_next_comes():
    numbering = Numbering("branching")
    numbering.body.started()
    first, second, third = asyncio.run(turns_of(Deliveries({}, numbering), 3))
    assert first == 0
    assert second - first >= TURNS
    assert third - second >= TURNS


def test_one_that_comes_alone_waits_for_nothing():
    numbering = Numbering("branching")
    numbering.body.started()
    deliveries = Deliveries({}, numbering)

    async def alone_each_time() -> list[list[int]]:
        return [await turns_of(deliveries, 1), await rested(), await turns_of(deliveries, 1)]

    async def rested() -> list[int]:
        for _ in range(TURNS + 2):
            await asyncio.sleep(0)
        return []

    assert asyncio.run(alone_each_time()) == [[0], [], [0]]


def test_a_body_without_tasks_waits_for_nothing():
    assert asyncio.run(turns_of(Deliveries({}, Numbering("plain")), 3)) == [0, 0, 0]
