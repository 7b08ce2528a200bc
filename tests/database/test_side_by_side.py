"""Tasks that a blocking body runs by async_to_sync: those whose calls a replay would mix up are refused."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import async_to_sync

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import AsyncBodyNeeded
from django_durable.testing import drain as drain_all

pytestmark = pytest.mark.django_db


@step
async def work(number):
    await asyncio.sleep(0)
    return number


@step
def plain(number):
    return number


async def branch(number):
    return [await work(number), await work(10 * number)]


async def several_calls_each():
    return await asyncio.gather(branch(1), branch(2))


async def beside_the_body():
    task = asyncio.create_task(branch(1))
    return [await work(2), await work(20), await task]


async def one_call_in_a_gap_of_another():
    gap, over, never = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def with_a_gap():
        first = await work(1)
        gap.set()
        await over.wait()
        return [first, await work(10)]

    async def in_the_gap():
        await gap.wait()
        number = await work(2)
        over.set()
        await never.wait()
        return number

    return await asyncio.gather(with_a_gap(), in_the_gap())


async def one_call_each():
    return await asyncio.gather(work(1), work(2), plain.acall(3))


async def one_after_the_other():
    return [
        await work(1),
        await asyncio.wait_for(branch(2), 5),
        await work(3),
        await asyncio.create_task(branch(4)),
    ]


async def one_call_each_and_then_again():
    return [await one_call_each(), await one_call_each(), await branch(4)]


def in_a_body(die_once, calls):
    @workflow
    def blocking():
        got = async_to_sync(calls)()
        die_once()
        return got

    return blocking.enqueue()


@pytest.mark.parametrize("calls", [several_calls_each, beside_the_body, one_call_in_a_gap_of_another])
def test_calls_whose_order_is_chance_are_refused(die_once, calls):
    run = in_a_body(die_once, calls)
    drain_all()
    assert run.status == Status.ERROR
    with pytest.raises(AsyncBodyNeeded, match="make the body async"):
        run.result()


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (one_call_each, [1, 2, 3]),
        (one_after_the_other, [1, [2, 20], 3, [4, 40]]),
        (one_call_each_and_then_again, [[1, 2, 3], [1, 2, 3], [4, 40]]),
    ],
)
def test_calls_that_come_in_order_are_made_and_replayed(die_once, calls, expected):
    run = die_once.then_run(in_a_body(die_once, calls))
    assert run.result() == expected
