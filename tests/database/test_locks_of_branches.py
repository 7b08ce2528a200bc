"""Branches of an async body that pass a lock on: a replay passes it on in the same order."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from django_durable import asleep, step, workflow
from django_durable.core.states import Status
from django_durable.testing import drain as drain_all
from django_durable.testing import freeze

pytestmark = pytest.mark.django_db
seen: list[list[str]] = []


@pytest.fixture(autouse=True)
def _nothing_was_seen() -> None:
    seen.clear()


@step
async def work(name):
    return name


@step
async def one_after_the_other():
    return "a, a"


@step
async def in_turns():
    return "a, b"


async def passing_on(lock):
    order: list[str] = []

    async def twice(name):
        for _ in range(2):
            async with lock:
                order.append(await work(name))

    async with asyncio.TaskGroup() as group:
        group.create_task(twice("a"))
        group.create_task(twice("b"))
    seen.append(order)
    return order


@pytest.mark.parametrize("lock", [asyncio.Lock, asyncio.Semaphore, asyncio.Condition])
def test_a_lock_is_passed_on_at_a_replay_as_at_the_first_time(die_once, lock):
    @workflow
    async def locked():
        order = await passing_on(lock())
        die_once()
        return order

    run = die_once.then_run(locked.enqueue())
    assert run.status == Status.SUCCESS
    assert seen[0] == seen[1]


def test_a_body_that_goes_by_that_order_goes_the_same_way_after_a_long_wait():
    @workflow
    async def locked():
        order = await passing_on(asyncio.Lock())
        told = await (one_after_the_other() if order[0] == order[1] else in_turns())
        await asleep(timedelta(hours=1))
        return told

    with freeze() as clock:
        run = locked.enqueue()
        drain_all()
        clock.shift(timedelta(hours=2))
        drain_all()
    assert run.status == Status.SUCCESS, run.record.error
    assert run.result() == "a, b"
