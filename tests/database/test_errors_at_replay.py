"""A replay raises what the first execution raised, so that each `except` of a body takes the same way."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing

import pytest
from django.core.exceptions import ValidationError

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.exceptions import ControlFlow
from tests.unit import broken


def refused(path):
    with closing(socket.socket()) as connection:
        return broken.Renamed(path, connection)


ERRORS = {
    "by field": lambda: ValidationError({"name": ["too short"]}),
    "an object as its argument": lambda: refused("at"),
    "ends programs": lambda: SystemExit(3),
    "of asyncio": lambda: asyncio.CancelledError("by hand"),
    "a group that ends programs": lambda: BaseExceptionGroup("all", [KeyboardInterrupt(), ValueError(1)]),
}


def way_of(error):
    """The branch of a body that handles it."""
    match error:
        case ValidationError():
            return error.message_dict
        case SystemExit():
            return error.code
        case BaseExceptionGroup():
            return [type(each) for each in error.exceptions]
    return type(error)


@pytest.mark.parametrize("kind", ERRORS)
def test_a_body_meets_the_same_error_again(die_once, kind):
    ways = []

    @step
    def refuse():
        raise ERRORS[kind]()

    @workflow(name="replay.refused")
    def body():
        try:
            refuse()
        except ControlFlow:
            raise
        except BaseException as error:
            ways.append(way_of(error))
        die_once()

    run = die_once.then_run(body.enqueue())
    assert run.status == Status.SUCCESS
    first, again = ways
    assert first == again
