"""Read the line behind positions, not from its head, and let them rise by what a committed claim saw.

In default order the first floors in line give the next rows, window by window, and groups left out cost
nothing: their floors are passed over in memory. So a claim costs what it takes and the groups it meets, not
the groups there are. In fair order a group further back may come first, so all of them are weighed: at once
where they are few, else after windows that cost as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from django_durable.claim import unsorted
from django_durable.claim.windows import Directory, Window
from django_durable.core.planning.candidates import END, Candidate, limit_key_of, partition_of
from django_durable.core.planning.planner import Planner, Seek
from django_durable.core.planning.positions import Floor, Positions

FEW_PLACES = 1200  # about a millisecond to weigh
GROWTH = 4  # of the floors asked, from window to window
DEPTH = 16  # windows this much larger ask for more rows of a group: so many of one are held by peers
PLACES_A_FLOOR = 2  # so many are weighed in the time that the rows behind one floor take to read

_place = attrgetter("rank", "line")


class PositionedReader:
    """Feeds one planner from the positions of one queue; the counterpart of windows.LineReader."""

    def __init__(self, queue: str, ready: dict[str, Any], using: str, positions: Positions) -> None:
        self.using = using
        self.params = {"queue": queue, **ready}
        self.positions = positions
        self._seen: dict[Floor, list[Candidate]] = {}
        self._windows = 0
        self._asked = 0

    def begin(self, planner: Planner) -> None:
        """Nothing is told before it is asked for."""

    def next_window(self, planner: Planner) -> Window:
        most, size = self._next_size(planner)
        floors, reached = self.positions.next_floors(planner.cursor, most, size, self._leaves_out(planner))
        rows = self._read(floors, planner)
        for floor, found in rows.items():
            if len(found) == floor.limit:
                reached = min(reached, found[-1].place)
        in_order = sorted((row for found in rows.values() for row in found), key=_place)
        return Window(in_order, ended=reached == END, reached=reached)

    def _next_size(self, planner: Planner) -> tuple[int, int]:
        """How many floors to ask next, and for how many rows: a plan takes few of one group."""
        first = planner.window >> self._windows >> 1
        self._windows += 1
        return first * GROWTH ** (self._windows - 1), max(first, planner.window // DEPTH)

    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]:
        wanted = {seek: self._floors_of(seek) for seek in planner.next_groups}
        rows = self._read([floor for floors in wanted.values() for floor in floors], planner)
        found = {seek: [row for floor in floors for row in rows[floor]] for seek, floors in wanted.items()}
        return [(seek, found[seek][: seek.limit]) for seek in wanted]

    def walk(self, planner: Planner, busy: int) -> Directory | None:
        """The positions name every group, without a walk; in default order windows do better."""
        if not self.positions.fair or not self.positions.by_group:
            return None
        if len(self.positions) > FEW_PLACES + PLACES_A_FLOOR * self._asked:
            return None
        return Directory(self.positions.places(), complete=True)

    def rise(self, taken: Iterable[str]) -> None:
        """Note what the claim saw and took; to be called once it is committed."""
        gone = frozenset(taken)
        for floor, seen in self._seen.items():
            self.positions.rise(floor, seen, gone)

    def _leaves_out(self, planner: Planner) -> Callable[[str], bool]:
        """Whether all rows of a group are left out; a line kept whole says nothing of its groups."""
        if not self.positions.by_group:
            return lambda group: False
        excluded = planner.exclusions
        keys, partitions, groups = set(excluded.keys), set(excluded.partitions), set(excluded.groups)
        return lambda group: (
            group in groups or limit_key_of(group) in keys or partition_of(group) in partitions
        )

    def _floors_of(self, seek: Seek) -> list[Floor]:
        return self.positions.floors_of(seek.group, seek.after, seek.limit)

    def _read(self, floors: Sequence[Floor], planner: Planner) -> dict[Floor, list[Candidate]]:
        """The rows behind each floor, in line order."""
        self._asked += len(floors)
        keys = self._keys(floors, planner)
        rows: dict[Floor, list[Candidate]] = {floor: [] for floor in floors}
        for position, *row in self._fetch(floors, keys):
            rows[floors[position - 1]].append(Candidate(*row))
        self._seen.update((floor, rows[floor]) for floor in floors if _shows_all(floor.group, keys))
        return rows

    def _keys(self, floors: Sequence[Floor], planner: Planner) -> list[str]:
        """The keys to leave out, which only rows of partitions and of a line kept whole can differ in."""
        if self.positions.by_group and all(partition_of(floor.group) is None for floor in floors):
            return []
        return planner.exclusions.keys

    def _fetch(self, floors: Sequence[Floor], keys: list[str]) -> list[tuple[Any, ...]]:
        if not floors:
            return []
        columns = {
            "groups": [floor.group for floor in floors],
            "ranks": [floor.rank for floor in floors],
            "lines": [floor.line for floor in floors],
            "limits": [floor.limit for floor in floors],
        }
        statement = "read_floors" if self.positions.by_group else "read_behind"
        return unsorted.fetch(statement, {**self.params, **columns, "keys": keys}, self.using)


def _shows_all(group: str, keys: list[str]) -> bool:
    """Whether a read that leaves out these limit keys passes over no row of the group unseen."""
    key = limit_key_of(group)
    return not keys or (key is not None and key not in keys)
