"""What became visible in line since the last look: two strategies behind one interface.

`SnapshotTail` is exact: it compares the transaction that enqueued a row with the snapshot of the last look,
so a late commit and a row of any priority is found at the next look. `SequenceTail` compares numbers of a
sequence instead: it serves where transaction ids do not (a restored or replicated table), and a row that got
its number before the last full pass and was committed after it is found by the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from django_durable.core.planning.positions import Arrival
from django_durable.models import database

FEW = 1000  # arrivals that a look expects; so few are read in index order whatever the statistics say
EVERY = 2**31 - 1
NOBODY = (0,)  # an empty list of transactions would prove the predicate of any partial index


class Tail(Protocol):
    def start(self) -> bool:
        """Remember this moment, before a full pass; False if no tail can be kept: then read all each time."""

    def read(self) -> list[Arrival]:
        """What became visible since the last look, at least; moves the moment on where that is sound."""


class Snapshot(NamedTuple):
    """Which transactions were over at a moment: those below `xmax` that are not in `running`."""

    xmax: int
    running: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        _, xmax, running = text.split(":")
        return cls(int(xmax), tuple(int(xid) for xid in running.split(",") if xid))


class SnapshotTail:
    def __init__(self, using: str) -> None:
        self.using = using
        self._seen: Snapshot | None = None

    def start(self) -> bool:
        ((text,),) = database.fetch("snapshot", {}, self.using)
        self._seen = Snapshot.parse(text)
        return True

    def read(self) -> list[Arrival]:
        if self._seen is None:
            raise RuntimeError("a tail is read from a moment that start() remembers")
        rows = self._rows(self._seen, FEW)
        if sum(row[5] or 0 for row in rows) >= FEW:
            rows = self._rows(self._seen, EVERY)
        self._seen = Snapshot.parse(rows[0][0])
        return [Arrival(*row[1:5]) for row in rows if row[1] is not None]

    def _rows(self, seen: Snapshot, most: int) -> list[tuple[Any, ...]]:
        running = [str(xid) for xid in seen.running or NOBODY]
        params = {"xmax": str(seen.xmax), "running": running, "most": most}
        return database.fetch("read_tail", params, self.using)


class SequenceTail:
    """The floor stays where the last full pass began: later rows may commit in any order above it."""

    def __init__(self, using: str) -> None:
        self.using = using
        self._floor: int | None = None

    def start(self) -> bool:
        rows = database.fetch("arrival_floor", {}, self.using)
        self._floor = rows[0][0] if rows else None
        return self._floor is not None

    def read(self) -> list[Arrival]:
        if self._floor is None:
            raise RuntimeError("a tail is read from a moment that start() remembers")
        return [Arrival(*row) for row in database.fetch("read_arrivals", {"floor": self._floor}, self.using)]


TAILS: dict[str, Callable[[str], Tail]] = {"snapshot": SnapshotTail, "sequence": SequenceTail}
