"""Ranking: hand out turns one at a time, to whom the order of the queue says, until a room is full.

Repeat: in the highest priority with a row that has room everywhere, the group with the lowest load takes its
first such row; ties go to the group whose row stands first. Load is what the group has in flight in the queue
plus its turns in this claim at this priority; in default order it is 0 for all, which leaves the line order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping
from heapq import heappop, heapreplace
from types import MappingProxyType

from django_durable.core.planning.candidates import Candidate, Place
from django_durable.core.planning.ledger import Ledger
from django_durable.core.planning.line import Head, Lane, Line

# (rank, load before the turn, line): strictly growing from turn to turn, see `settling`
Turn = tuple[int, int, int]


class Ranking:
    """The turns given to the rows of a line, and what is needed to say what one more row would change."""

    __slots__ = ("_line", "_own", "held", "ledger", "rows", "turns")

    def __init__(self, line: Line, held: Container[str]) -> None:
        self._line = line
        self._own: dict[str, list[Candidate]] | None = None
        self.held = held
        self.ledger = Ledger(line.rooms, line.shut)
        self.turns: list[Turn] = []
        self.rows: list[Candidate] = []
        for rank in line.ranks():
            self._deal(rank, line.heads(rank))

    @property
    def plan(self) -> list[Candidate]:
        """The rows to take, in the order of their turns."""
        return [row for row in self.rows if row.id not in self.held]

    @property
    def is_full(self) -> bool:
        return self.ledger.closed <= len(self.turns)

    @property
    def groups(self) -> dict[str, list[Candidate]]:
        """The rows that have a turn, by group; nothing in default order, where groups mean nothing."""
        if self._own is None:
            self._own = {}
            for row in self.rows if self._line.is_fair else ():
                self._own.setdefault(row.group, []).append(row)
        return self._own

    @property
    def busy(self) -> Mapping[str, int]:
        """How many rows each group has in flight; nothing in default order."""
        return self._line.busy if self._line.is_fair else _NOTHING

    def load(self, group: str, place: Place) -> int:
        """Count what a row there has before it: in flight, or with a turn of its rank."""
        rank, line = place
        load = self.busy.get(group, 0)
        for row in self.groups.get(group, ()):
            if row.rank == rank and row.line < line:
                load += 1
        return load

    def turn_at(self, load: int, place: Place) -> int:
        """Tell which turn is the first that a row at this place, its group so loaded, would take away."""
        return bisect_right(self.turns, (place[0], load, place[1]))

    def _deal(self, rank: int, heads: list[Head]) -> None:
        is_fair = self._line.is_fair
        while heads and self._is_open():
            load, line, lane, at = heads[0]
            ready = self._first_with_room(lane, at)
            if ready == at:
                self._give(lane[at], (rank, load, line))
                load, ready = load + is_fair, at + 1
            _advance(heads, load, lane, ready)

    def _is_open(self) -> bool:
        return self.ledger.closed > len(self.turns)

    def _first_with_room(self, lane: Lane, at: int) -> int:
        closing = self.ledger.closing
        turn = len(self.turns)
        while at < len(lane) and closing(lane[at].partition, lane[at].limit_key) <= turn:
            at += 1
        return at

    def _give(self, row: Candidate, turn: Turn) -> None:
        self.turns.append(turn)
        self.rows.append(row)
        self.ledger.spend(row.partition, row.limit_key, row.id in self.held)


_NOTHING: Mapping[str, int] = MappingProxyType({})


def _advance(heads: list[Head], load: int, lane: Lane, at: int) -> None:
    if at < len(lane):
        heapreplace(heads, (load, lane[at].line, lane, at))
    else:
        heappop(heads)
