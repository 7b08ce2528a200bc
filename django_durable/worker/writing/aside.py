"""Writes whose rows somebody else holds locked: a run's are tried again after a pause, together and in order.

The pause of a run grows with each try: a lock of hours costs a look now and then, and one of milliseconds is
hardly noticed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

SHORTEST = 0.005
LONGEST = 0.5

T = TypeVar("T")


@dataclass(slots=True)
class _Shelf(Generic[T]):
    due: float
    pause: float = SHORTEST
    writes: list[T] = field(default_factory=list)  # none while they are being tried


class Aside(Generic[T]):
    """Keyed by execution; a later write of the same one goes behind those that wait already."""

    def __init__(self) -> None:
        self._shelves: dict[Hashable, _Shelf[T]] = {}

    def __len__(self) -> int:
        return sum(len(shelf.writes) for shelf in self._shelves.values())

    def __bool__(self) -> bool:
        """Whether any was ever put here and is not forgotten."""
        return bool(self._shelves)

    def holds(self, key: Hashable) -> bool:
        shelf = self._shelves.get(key)
        return shelf is not None and bool(shelf.writes)

    def put(self, key: Hashable, write: T, now: float) -> None:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = _Shelf(now + SHORTEST)
        elif not shelf.writes:
            shelf.pause = min(shelf.pause * 2, LONGEST)
            shelf.due = now + shelf.pause
        shelf.writes.append(write)

    def take(self, now: float = math.inf) -> list[T]:
        """Those that are due."""
        taken: list[T] = []
        for shelf in self._shelves.values():
            if shelf.writes and shelf.due <= now:
                taken += shelf.writes
                shelf.writes = []
        return taken

    def forget(self, key: Hashable) -> None:
        """Its row was free."""
        if not self.holds(key):
            self._shelves.pop(key, None)

    def rest(self, now: float) -> float:
        """Seconds until the next is due, infinite if there is none."""
        due = min((shelf.due for shelf in self._shelves.values() if shelf.writes), default=math.inf)
        return max(due - now, 0.0)
