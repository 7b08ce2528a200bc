"""Values that are looked up at their first use, and at once where that use could not wait for them.

Attributes are read without an await, so code on an event loop can look nothing up by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LookUp = Callable[[], object]

MARK = '"model'  # begins the tags of all such values, in records of errors too

_made: ContextVar[list[LookUp] | None] = ContextVar("durable_late_values", default=None)


def may_hold(text: str | None) -> bool:
    """Whether reading this text makes such a value, or looks one up; True for some others too."""
    return text is not None and MARK in text


def made(look_up: LookUp) -> None:
    """Told by who reads such a value."""
    waiting = _made.get()
    if waiting is not None:
        waiting.append(look_up)


@contextmanager
def looked_up_at_once() -> Iterator[None]:
    """Look up at the end of the block what was read in it."""
    waiting: list[LookUp] = []
    token = _made.set(waiting)
    try:
        yield
    finally:
        _made.reset(token)
    for look_up in waiting:
        look_up()
