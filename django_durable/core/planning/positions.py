"""Positions: what one process remembers of a queue's line, so that it need not walk what was claimed before.

For each group and rank that may have rows in line, a *floor*: no live row of that group and rank stands at or
before it, except such as the next tail brings. A plain queue is kept as one group.

Why no row can be stranded. Let S be the snapshot of the last tail, and R any live row, of group g and rank r.

* R is not visible in S: the next tail returns it, and folds its place into the floors.
* R is visible in S: a tail or a full pass has returned it, so at that time a floor before R was noted. A
  floor rises only to just before the first row that was *seen* live and not taken, else to the last row seen;
  reads take no locks, so a row that a peer has claimed but not committed is seen, and the floor stays before
  it: the peer's rollback needs no healing. A group and rank is forgotten only when a read came to its end and
  all it saw was taken.

Every entry into the line stamps a new transaction id, so a row that comes back at its old place is not
visible in S and is brought by the tail, whatever its place. What is left to the full pass is what breaks
these rules from outside: rows restored or edited by hand, and a connection lost between two reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django_durable.core.planning.candidates import Candidate, Place

WHOLE_LINE = ""


class Arrival(NamedTuple):
    """The first of some rows of one group and rank that became visible."""

    queue: str
    group: str
    rank: int
    line: int


class Floor(NamedTuple):
    """Read the rows of this group and rank behind this line, at most so many."""

    group: str
    rank: int
    line: int
    limit: int


class Positions:
    """The floors of one queue, as a full pass found them and tails and claims moved them since.

    `by_group` False keeps the line as a whole: enough where neither turns nor limits can pass over a row.
    """

    __slots__ = ("_floors", "by_group")

    def __init__(self, arrivals: Iterable[Arrival], *, by_group: bool) -> None:
        self.by_group = by_group
        self._floors: dict[str, dict[int, int]] = {}
        self.fold(arrivals)

    def __len__(self) -> int:
        return sum(map(len, self._floors.values()))

    def fold(self, arrivals: Iterable[Arrival]) -> None:
        """Let the floors fall to just before what arrived."""
        for _, group, rank, line in arrivals:
            ranks = self._floors.setdefault(group if self.by_group else WHOLE_LINE, {})
            ranks[rank] = min(ranks.get(rank, line), line - 1)

    def places(self) -> dict[str, Place]:
        """For every group that may have rows, a place before which none is unread."""
        return {group: (rank, ranks[rank]) for group, ranks in self._floors.items() for rank in [min(ranks)]}

    def floors_of(self, group: str, after: Place, limit: int) -> list[Floor]:
        """The reads that together give the rows of a group behind a place, one for each of its ranks."""
        own_rank, line = after
        return [
            Floor(group, rank, max(floor, line) if rank == own_rank else floor, limit)
            for rank, floor in sorted(self._floors.get(group, {}).items())
            if rank >= own_rank
        ]

    def rise(self, floor: Floor, seen: Sequence[Candidate], taken: frozenset[str]) -> None:
        """Note what a committed claim saw behind a floor it started from, and which of it was taken."""
        ranks = self._floors.get(floor.group)
        if ranks is None or ranks.get(floor.rank) != floor.line:
            return  # an arrival let it fall meanwhile, or an earlier read of this claim raised it
        left = next((row for row in seen if row.id not in taken), None)
        if left is not None:
            ranks[floor.rank] = left.line - 1
        elif len(seen) == floor.limit:
            ranks[floor.rank] = seen[-1].line
        else:
            self._forget(floor)

    def _forget(self, floor: Floor) -> None:
        del self._floors[floor.group][floor.rank]
        if not self._floors[floor.group]:
            del self._floors[floor.group]
