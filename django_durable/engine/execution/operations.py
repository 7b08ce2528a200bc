"""A durable call, written as a generator that does its reading and writing between its yields.

It yields what it has to wait for: `Pause` (seconds, here), `Wait` (long: the run may leave the worker), or an
awaitable of a pair of value and error. It must look again after every yield. What it returns is the call's
value, or `Raised`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

Operation = Generator[Any, Any, Any]


class Pause(NamedTuple):
    """A short wait that keeps the slot."""

    seconds: float


class Light(NamedTuple):
    """A call whose first turn touches no database: an event loop may run that turn itself."""

    operation: Operation


class Raised(NamedTuple):
    """The call's result is this error; `steps` are the numbers under which it is recorded."""

    error: BaseException
    steps: tuple[int, ...] = ()


def at_once(result: Any) -> Operation:
    """A call that has nothing to wait for: a result, or a function that gives it when the call is run."""
    return result() if callable(result) else result
    yield
