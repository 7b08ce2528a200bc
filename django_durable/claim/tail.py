"""What became visible in line since the last look: two strategies behind one interface.

`SnapshotTail` is exact: it compares the transaction that enqueued a row with the snapshot of the last look,
so a late commit and a row of any priority is found at the next look. `SequenceTail` compares numbers of a
sequence instead: it serves where transaction ids do not (a restored or replicated table), and a row that got
its number before the last full pass and was committed after it is found by the next one. One tail serves all
queues of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from django_durable.core.planning.positions import Arrival
from django_durable.models import database

Answers = Sequence[list[tuple[Any, ...]]]
FEW = 1000  # arrivals that a look expects; so few are read in index order whatever the statistics say
EVERY = 2**31 - 1
NOBODY = (0,)  # an empty list of transactions would prove the predicate of any partial index


class Tail(Protocol):
    is_exact: bool  # whether a full pass could find nothing that it does not tell of

    def start(self, queue: str) -> bool:
        """Follow the queue from this moment, before its full pass; False where no tail can be kept."""

    def stop(self, queue: str) -> None:
        """Follow the queue no longer."""

    def asked(self) -> list[database.Asked]:
        """The statements that tell what became visible since the last look."""

    def take(self, answers: Answers) -> list[Arrival] | None:
        """What that is, at least; moves the moment on where that is sound. None: nothing before it holds."""


class Snapshot(NamedTuple):
    """Which transactions were over at a moment: those below `xmax` that are not in `running`."""

    xmax: int
    running: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        _, xmax, running = text.split(":")
        return cls(int(xmax), tuple(int(xid) for xid in running.split(",") if xid))


class SnapshotTail:
    """One moment for all queues: a queue that comes later is read, by its full pass, after that moment."""

    is_exact = True

    def __init__(self, using: str) -> None:
        self.using = using
        self._queues: set[str] = set()
        self._seen: Snapshot | None = None
        self._since = ""  # when the server began that saw it

    def start(self, queue: str) -> bool:
        if not self._queues:
            ((text, self._since),) = database.fetch("snapshot", {}, self.using)
            self._seen = Snapshot.parse(text)
        self._queues.add(queue)
        return True

    def stop(self, queue: str) -> None:
        self._queues.discard(queue)

    def asked(self) -> list[database.Asked]:
        return self._asked(FEW)

    def take(self, answers: Answers) -> list[Arrival] | None:
        """A server that began anew, behind a pooler, may have lost claims that were over: rows are back."""
        rows = answers[0]
        if sum(row[6] or 0 for row in rows) >= FEW:
            rows = database.fetch_all(self._asked(EVERY), self.using)[0]
        text, since = rows[0][:2]
        if since != self._since:
            return None
        self._seen = Snapshot.parse(text)
        return [Arrival(*row[2:6]) for row in rows if row[2] is not None]

    def _asked(self, most: int) -> list[database.Asked]:
        if self._seen is None:
            raise RuntimeError("a tail is read from a moment that start() remembers")
        running = [str(xid) for xid in self._seen.running or NOBODY]
        params = {"xmax": str(self._seen.xmax), "running": running, "most": most}
        return [("read_tail", params)]


class SequenceTail:
    """A floor a queue, where its last full pass began: later rows may commit in any order above it."""

    is_exact = False

    def __init__(self, using: str) -> None:
        self.using = using
        self._floors: dict[str, int] = {}

    def start(self, queue: str) -> bool:
        ((floor,),) = database.fetch("arrival_floor", {}, self.using) or [(None,)]
        if floor is None:
            return False
        self._floors[queue] = floor
        return True

    def stop(self, queue: str) -> None:
        self._floors.pop(queue, None)

    def asked(self) -> list[database.Asked]:
        if not self._floors:
            raise RuntimeError("a tail is read from a moment that start() remembers")
        return [("read_arrivals", {"floor": min(self._floors.values())})]

    def take(self, answers: Answers) -> list[Arrival]:
        return [Arrival(*row) for row in answers[0]]


TAILS: dict[str, Callable[[str], Tail]] = {"snapshot": SnapshotTail, "sequence": SequenceTail}
