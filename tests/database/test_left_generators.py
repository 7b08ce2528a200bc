"""Generators that a body leaves half-way end while the run is its own: their calls are never plain ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from django_durable import asleep, sleep, step, workflow
from django_durable.core.states import Status
from django_durable.models import StepOutput
from tests.drain import row

pytestmark = pytest.mark.django_db

ran: list[str] = []


@step
def note(what: str) -> None:
    ran.append(what)


def opened() -> Iterator[None]:
    note("open")
    try:
        yield
    finally:
        note("close")


@step
async def anote(what: str) -> None:
    ran.append(what)


async def aopened(what: str = "") -> AsyncIterator[None]:
    await anote(f"open{what}")
    try:
        yield
    finally:
        await anote(f"close{what}")


def numbers() -> list[int]:
    return list(StepOutput.objects.order_by("step").values_list("step", flat=True))


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_a_body_holds_when_it_leaves_to_wait_does_nothing(drain):
    @workflow(name="left.asleep")
    def body():
        held = opened()
        next(held)
        sleep(3600)

    run = body.enqueue()
    drain()
    assert (run.status, ran) == (Status.WAITING, ["open"])


def test_one_that_a_body_holds_when_it_fails_calls_as_a_part_of_the_run(drain):
    @workflow(name="left.failed")
    def body():
        held = opened()
        next(held)
        raise ValueError("out of paper")

    run = body.enqueue()
    drain()
    assert "out of paper" in row(run).error
    assert (run.status, ran, numbers()) == (Status.ERROR, ["open", "close"], [1, 2])


def test_one_that_a_body_holds_when_it_returns_does_too(drain):
    @workflow(name="left.returned")
    def body():
        held = opened()
        next(held)

    run = body.enqueue()
    drain()
    assert (run.status, ran, numbers()) == (Status.SUCCESS, ["open", "close"], [1, 2])


def test_nor_does_an_async_one(drain):
    @workflow(name="left.async_asleep")
    async def body():
        held = aopened()
        await anext(held)
        await asleep(3600)

    run = body.enqueue()
    drain()
    assert (run.status, ran) == (Status.WAITING, ["open"])


def test_async_ones_call_in_the_order_in_which_they_are_held(drain):
    @workflow(name="left.async_failed")
    async def body():
        first, second = aopened(" first"), aopened(" second")
        await anext(first)
        await anext(second)
        raise ValueError("out of paper")

    run = body.enqueue()
    drain()
    assert run.status == Status.ERROR
    assert set(ran[2:]) == {"close first", "close second"}
    assert numbers() == [1, 2, 1_001_000, 1_002_000]
