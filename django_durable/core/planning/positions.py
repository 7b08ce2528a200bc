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
visible in S and is brought by the tail, whatever its place.

What a full pass could still find. Started from the floors it finds what a claim behind the floors finds, and
what stands before a floor, or in a group and rank without one, can by the above only be a row that the next
tail brings. So while the tail is exact and was read without a gap, on one connection, a full pass finds
nothing: it is needed where there are no floors (at the start, after a reconnect, after a restart of the
server that a pooler hides, after a pause, for a new queue), where those that there are say too little (a line
kept as one group, once groups matter), and to heal what breaks these rules from outside: rows restored or
edited by hand, and rows that were passed over for their version until this process became the newest. A tail
by sequence is not exact: a row that got its number before the last full pass and became visible after it
waits for the next one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django_durable.core.planning.candidates import END, Candidate, Place

WHOLE_LINE = ""
FEWEST = 2  # rows asked behind a floor: one alone ends what is known of the line at itself


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

    __slots__ = ("_floors", "_in_order", "by_group", "fair")

    def __init__(self, arrivals: Iterable[Arrival], *, by_group: bool, fair: bool = False) -> None:
        self.by_group = by_group
        self.fair = fair
        self._floors: dict[str, dict[int, int]] = {}
        for _, group, rank, line in arrivals:
            ranks = self._floors.setdefault(group if by_group else WHOLE_LINE, {})
            ranks[rank] = min(ranks.get(rank, line), line - 1)
        self._in_order = sorted(
            (rank, line, group) for group, ranks in self._floors.items() for rank, line in ranks.items()
        )

    def __len__(self) -> int:
        return len(self._in_order)

    def fold(self, arrivals: Iterable[Arrival]) -> None:
        """Let the floors fall to just before what arrived."""
        for _, group, rank, line in arrivals:
            self._fall(group if self.by_group else WHOLE_LINE, rank, line - 1)

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

    def next_floors(
        self, after: Place, most: int, size: int, leaves_out: Callable[[str], bool]
    ) -> tuple[list[Floor], Place]:
        """The reads that together give the rows behind a place up to another, and that other place.

        The first `most` floors behind the place are asked, and all before it; the first of them for `size`
        rows, the further ones for fewer and fewer: they stand behind the rows of the first.
        """
        floors: list[Floor] = []
        rank, line = after
        for start in range(bisect_left(self._in_order, (rank,)), len(self._in_order)):
            own_rank, own_line, group = self._in_order[start]
            if leaves_out(group):
                continue
            if (own_rank, own_line) > after:
                if most <= 0:
                    return floors, (own_rank, own_line)
                most -= 1
            limit = max(size // (len(floors) + 1), FEWEST)
            behind = max(own_line, line) if own_rank == rank else own_line
            floors.append(Floor(group, own_rank, behind, limit))
        return floors, END

    def rise(self, floor: Floor, seen: Sequence[Candidate], taken: frozenset[str]) -> None:
        """Note what a committed claim saw behind a floor it started from, and which of it was taken."""
        ranks = self._floors.get(floor.group)
        if ranks is None or ranks.get(floor.rank) != floor.line:
            return  # an arrival let it fall meanwhile, or an earlier read of this claim raised it
        left = next((row for row in seen if row.id not in taken), None)
        if left is not None:
            self._set(floor.group, floor.rank, left.line - 1)
        elif len(seen) == floor.limit:
            self._set(floor.group, floor.rank, seen[-1].line)
        else:
            self._forget(floor.group, floor.rank)

    def _fall(self, group: str, rank: int, line: int) -> None:
        known = self._floors.get(group, {}).get(rank)
        if known is None or line < known:
            self._set(group, rank, line)

    def _set(self, group: str, rank: int, line: int) -> None:
        ranks = self._floors.setdefault(group, {})
        if rank in ranks:
            self._leave_order(rank, ranks[rank], group)
        ranks[rank] = line
        insort(self._in_order, (rank, line, group))

    def _forget(self, group: str, rank: int) -> None:
        ranks = self._floors[group]
        self._leave_order(rank, ranks.pop(rank), group)
        if not ranks:
            del self._floors[group]

    def _leave_order(self, rank: int, line: int, group: str) -> None:
        del self._in_order[bisect_left(self._in_order, (rank, line, group))]
