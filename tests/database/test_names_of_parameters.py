"""Whatever the parameters of a user's function are called, they can be given by name."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from django_durable import aenqueue_by_name, enqueue_by_name, step, workflow
from django_durable.exceptions import InvalidOption
from django_durable.testing import drain, shift

pytestmark = pytest.mark.django_db
NAMES = ["self", "name", "args", "kwargs", "function", "context", "id", "queue", "message", "key"]
GIVEN = {name: place for place, name in enumerate(NAMES)}


@step
def keep(**given):
    return given


@pytest.fixture(autouse=True)
def kept():
    @workflow(name="odd.names")
    def kept(**given):
        return keep(**given)

    @workflow(name="odd.async_names")
    async def akept(**given):
        return await keep.acall(**given)

    @workflow(name="odd.parent")
    def parent(**given):
        return kept(**given)

    return [kept, akept, parent]


def awaited(call):
    async def wait():
        return await call()

    return async_to_sync(wait)()


def test_by_every_call_of_a_function(kept):
    runs = [each.enqueue(**GIVEN) for each in kept]
    runs += kept[0].enqueue_many([((), GIVEN)])
    runs += [awaited(lambda: kept[0].aenqueue(**GIVEN)), kept[0].debounce("key", 1).enqueue(**GIVEN)]
    shift(1)
    drain()
    assert [run.result() for run in runs] == [GIVEN] * 6
    assert kept[0].call(**GIVEN) == GIVEN
    assert keep(**GIVEN) == GIVEN


def test_by_the_name_of_the_function():
    runs = [enqueue_by_name("odd.names", **GIVEN), awaited(lambda: aenqueue_by_name("odd.names", **GIVEN))]
    drain()
    assert [run.result() for run in runs] == [GIVEN] * 2


@pytest.mark.parametrize("options", [3, {"queue": "other"}, "later", False])
def test_what_a_call_by_name_takes_for_its_options_is_told(options):
    with pytest.raises(InvalidOption, match="by position"):
        enqueue_by_name("odd.names", options=options)
