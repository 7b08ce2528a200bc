"""What cannot be stored is a failure in words at every door; what can be stored passes each unchanged."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from django_durable import (
    get_event,
    read_stream,
    recv,
    send,
    set_event,
    step,
    workflow,
    workflow_id,
    write_stream,
)
from django_durable.core.states import Status
from django_durable.exceptions import NotSerializable
from tests.testapp.models import Ledger
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db


class Shy:
    def __repr__(self):
        raise RuntimeError("no repr")


def looped():
    value = []
    value.append(value)
    return value


def deep():
    value = []
    for _ in range(5000):
        value = [value]
    return value


REFUSED = {
    "a file": lambda: sys.stdout,
    "a generator": lambda: (number for number in range(3)),
    "a function": lambda: deep,
    "an unsaved row": lambda: Ledger(run_id="a"),
    "a query": lambda: Ledger.objects.all(),
    "a circle": looped,
    "a deep list": deep,
    "no repr": Shy,
}
STORED = {
    "a set": {1, 2},
    "bytes": b"\0\xff",
    "nul": {"k\0": "a\0b"},
    "half a character": ["\ud800", "\udc00\ud800", b"\xff".decode("utf-8", "surrogateescape")],
    "infinity": [float("inf"), float("-inf"), {float("inf"): 1}],
    "a large int": 10**5000,
    "an odd decimal": [Decimal("Infinity"), Decimal("1E+400"), Decimal("0.10")],
    "microseconds": datetime(2026, 1, 1, 12, 0, 0, 123456, timezone(timedelta(hours=14))),
    "a zone": datetime(2027, 10, 31, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    "keys": {1: "a", "1": "b", None: "d", (1, 2): "e"},
    "floats": [-0.0, 1e22],
}


@step
def give(value):
    return value


def pass_on(door, value):
    """Send the value through the door from inside a body; what comes out."""
    if door == "a step":
        return give(value)
    if door == "an event":
        set_event("key", value)
        return get_event(workflow_id(), "key")
    if door == "a message":
        send(workflow_id(), value)
        return recv(timeout=0)
    if door == "a stream":
        write_stream("key", value)
    if door == "a child":
        return echo(value)
    return value


DOORS = ["a step", "an event", "a message", "a stream", "a child", "the result"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_stored_fails_the_run_once_and_in_words(drain, door, what):
    calls = []

    @step(name="make")
    def make():
        calls.append(1)
        return REFUSED[what]()

    @workflow(name="passes")
    def passes():
        return make() if door == "a step" else pass_on(door, REFUSED[what]())

    run, after = passes.enqueue(), echo.enqueue("next")
    drain()
    assert run.status == Status.ERROR
    with pytest.raises(NotSerializable, match="cannot be stored"):
        run.result()
    assert after.result() == "next"
    assert calls == ([1] if door == "a step" else [])


@pytest.mark.parametrize("what", REFUSED)
def test_as_an_argument_it_is_refused_in_the_caller(what):
    for call in (echo.enqueue, echo.start, lambda value: echo.enqueue_many([((value,), {})])):
        with pytest.raises(NotSerializable, match="args"):
            call(REFUSED[what]())


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", STORED)
def test_what_can_be_stored_passes_every_door_unchanged(drain, die_once, door, what):
    value = STORED[what]

    @workflow(name="passes")
    def passes(given):
        assert same(given, value)
        passed = pass_on(door, given)
        if door != "a child":
            die_once()
        return passed

    run = passes.enqueue(value)
    if door == "a child":
        drain()
    else:
        die_once.then_run(run)
    assert same(run.result(), value)
    if door == "a stream":
        (streamed,) = read_stream(run.id, "key")
        assert same(streamed, value)


def same(found, expected):
    """By type too, and by zone and fold."""
    if isinstance(expected, int):
        return type(found) is int and found == expected
    return repr(found) == repr(expected) and type(found) is type(expected)
