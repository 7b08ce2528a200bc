"""Tasks of an async body end with its execution, and the log has nothing to say about that."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from django_durable import arecv, asleep, retrieve, send, step, workflow
from django_durable.core.states import Status
from django_durable.engine.execution import drive
from django_durable.engine.execution.quiet_ends import be_quiet_about_ends
from django_durable.testing import drain as drain_all
from django_durable.testing import shift

pytestmark = pytest.mark.django_db


@step
async def note(what):
    return what


async def branch(topic):
    return await note(await arecv(topic))


async def each_awaited(tasks):
    return [await task for task in tasks]


async def all_waited_for(tasks):
    await asyncio.wait(tasks)
    return [task.result() for task in tasks]


async def in_a_group(tasks):
    async with asyncio.TaskGroup() as group:
        group.create_task(arecv("of the group"))
    return await each_awaited(tasks)


async def left_alone(tasks):
    return await arecv("of the group")


@pytest.fixture
def complaints(caplog):
    caplog.set_level(logging.WARNING, "asyncio")

    def told():
        gc.collect()
        return [record.getMessage() for record in caplog.records if record.name == "asyncio"]

    return told


@pytest.mark.parametrize("way", [each_awaited, all_waited_for, in_a_group, left_alone])
def test_a_body_that_leaves_to_wait_leaves_no_complaint(complaints, way):
    @workflow
    async def waits():
        tasks = [asyncio.create_task(branch(topic)) for topic in ("a", "b")]
        tasks.append(asyncio.create_task(asleep(60)))
        return await way(tasks)

    run = waits.enqueue()
    drain_all()
    assert retrieve(run.id).status == Status.WAITING
    for topic in ("of the group", "b", "a"):
        send(run.id, topic, topic)
    shift(60)
    drain_all()
    assert run.status == Status.SUCCESS
    assert complaints() == []


def test_all_branches_leave_with_the_last_one_that_has_to_wait(monkeypatch):
    monkeypatch.setattr(drive, "LINGER", 1000.0)  # of each that waits while another may go on

    @workflow
    async def waits():
        tasks = [asyncio.create_task(branch(topic)) for topic in ("a", "b", "c")]
        return await all_waited_for(tasks)

    run = waits.enqueue()
    drain_all()
    assert retrieve(run.id).status == Status.WAITING
    for topic in ("a", "c", "b"):
        send(run.id, topic, topic)
    drain_all()
    assert run.result() == ["a", "b", "c"]


def test_the_errors_of_tasks_that_nobody_looked_at_are_told_as_ever(complaints):
    async def fails():
        raise ValueError("nobody looked")

    @workflow
    async def careless():
        asyncio.create_task(fails())  # noqa: RUF006
        await note(1)

    run = careless.enqueue()
    drain_all()
    assert run.status == Status.SUCCESS
    assert "nobody looked" in "".join(complaints())


def test_a_handler_that_a_loop_had_is_asked_and_is_not_wrapped_twice():
    heard = []

    async def complain():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: heard.append(context["message"]))
        be_quiet_about_ends(loop)
        handler = loop.get_exception_handler()
        be_quiet_about_ends(loop)
        assert loop.get_exception_handler() is handler
        loop.call_exception_handler({"message": "something else"})

    asyncio.run(complain())
    assert heard == ["something else"]
