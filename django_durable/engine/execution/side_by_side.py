"""Awaited calls of a blocking body, as under async_to_sync: its calls are numbered as they come.

Tasks that make one call each begin in order, so a replay numbers those alike. A task that makes another one
while such a call of a second task may come at any moment is refused: which of the two is first is chance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from django_durable.exceptions import AsyncBodyNeeded

WHY = "tasks that go on side by side make several durable calls each, which a replay would mix up"
INSTEAD = "make the body async, where each task counts its own"


@dataclass(slots=True)
class Caller:
    """One task: when it called first and last, and the tasks whose calls were under way meanwhile."""

    first: int
    last: int
    beside: set[asyncio.Task[object]] = field(default_factory=set)
    is_calling: bool = False


class SideBySide:
    """The tasks of one execution that have made durable calls."""

    def __init__(self) -> None:
        self._callers: dict[asyncio.Task[object], Caller] = {}
        self._calls = count()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Raises AsyncBodyNeeded for a call that might as well have come after one of another task."""
        task = asyncio.current_task()
        if task is None:
            yield
            return
        caller = self._admit(task)
        caller.is_calling = True
        try:
            yield
        finally:
            caller.is_calling = False

    def _admit(self, task: asyncio.Task[object]) -> Caller:
        now = next(self._calls)
        self._callers = {each: caller for each, caller in self._callers.items() if not each.done()}
        caller = self._callers.get(task)
        others = [(each, other) for each, other in self._callers.items() if each is not task]
        if caller is None:
            caller = self._callers[task] = Caller(now, now)
        elif any(each in caller.beside or other.last > caller.first for each, other in others):
            raise AsyncBodyNeeded(WHY, INSTEAD)
        caller.last = now
        for each, other in others:
            if other.is_calling:
                other.beside.add(task)
                caller.beside.add(each)
        return caller
