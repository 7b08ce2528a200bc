"""Each option of an enqueue is stored alike, whichever call it is said to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from django_durable import enqueue_by_name, workflow
from django_durable.core.options import Options
from django_durable.models import Queue, WorkflowStatus
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db
SOON = datetime.now(UTC) + timedelta(hours=2)
OPTIONS = {
    "queue": "odd",
    "priority": 5,
    "partition_key": "tenant",
    "limit_key": "gateway",
    "run_at": SOON,
    "expires_at": SOON + timedelta(hours=1),
    "timeout": 60,
    "deadline": SOON + timedelta(hours=3),
    "max_attempts": 4,
    "attributes": {"a": 1},
}
COLUMNS = {"run_at": "delay_until"}
CALL = ((1,), {})


def enqueue():
    return echo.using(**OPTIONS).enqueue(1)


def enqueue_many():
    return echo.using(**OPTIONS).enqueue_many([CALL])[0]


def by_name():
    return enqueue_by_name(echo.name, 1, options=Options(**OPTIONS))


async def aenqueue():
    return await echo.using(**OPTIONS).aenqueue(1)


async def aenqueue_many():
    return (await echo.using(**OPTIONS).aenqueue_many([CALL]))[0]


def stored(run):
    row = WorkflowStatus.objects.get(pk=run.id)
    return {name: getattr(row, COLUMNS.get(name, name)) for name in OPTIONS}


@pytest.fixture(autouse=True)
def odd(db):
    Queue.objects.create(name="odd")


@pytest.mark.parametrize("door", [enqueue, enqueue_many, by_name, aenqueue, aenqueue_many])
@pytest.mark.parametrize("inside", [False, True])
def test_an_option_is_stored_alike_through_every_door(drain, door, inside):
    is_async = door in (aenqueue, aenqueue_many)
    if inside:
        made = []

        @workflow(name="blocking")
        def blocking():
            made.append(door())

        @workflow(name="awaiting")
        async def awaiting():
            made.append(await door())

        (awaiting if is_async else blocking).enqueue()
        drain()
        (run,) = made
    else:
        run = async_to_sync(door)() if is_async else door()
    assert stored(run) == {**OPTIONS, "timeout": timedelta(minutes=1)}


def test_a_function_may_say_what_it_can_say_of_itself(drain):
    said: Any = {
        name: OPTIONS[name] for name in ("queue", "priority", "limit_key", "timeout", "max_attempts")
    }

    @workflow(name="says", **said)
    def says():
        pass

    found = stored(says.enqueue())
    assert {name: found[name] for name in said} == {**said, "timeout": timedelta(minutes=1)}
    taken_back = says.using(timeout=None, limit_key=None).enqueue()
    assert (stored(taken_back)["timeout"], stored(taken_back)["limit_key"]) == (None, None)
