"""Read the line behind positions, not from its head, and let them rise by what a committed claim saw.

In default order the first floors in line give the next rows, window by window, and groups left out cost
nothing: their floors are passed over in memory. So a claim costs what it takes and the groups it meets, not
the groups there are. In fair order a group further back may come first, so all of them are weighed: at once
where they are few, else after windows that cost as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from django_durable.claim.windows import Directory, Window
from django_durable.core.planning.candidates import END, HEAD, Candidate, Place, limit_key_of, partition_of
from django_durable.core.planning.planner import Planner, Seek, window_size
from django_durable.core.planning.positions import WHOLE_LINE, Floor, Positions
from django_durable.models import database

FEW_PLACES = 1200  # about a millisecond to weigh
GROWTH = 4  # of the floors asked, from window to window
DEPTH = 16  # windows this much larger ask for more rows of a group: so many of one are held by peers
HELD = 2  # times the slots are looked at: as many may be held by peers
PLACES_A_FLOOR = 2  # so many are weighed in the time that the rows behind one floor take to read

_place = attrgetter("rank", "line")


Rows = list[tuple[Any, ...]]


class Ahead(NamedTuple):
    """The first floors, asked for before the claim has a planner; the place before which they tell all."""

    floors: list[Floor]
    reached: Place
    rows: Rows | None = None


class PositionedReader:
    """Feeds one planner from the positions of one queue; the counterpart of windows.LineReader."""

    def __init__(self, queue: str, ready: dict[str, Any], using: str, positions: Positions) -> None:
        self.using = using
        self.params = {"queue": queue, **ready}
        self.positions = positions
        self._seen: dict[Floor, list[Candidate]] = {}
        self._windows = 0
        self._asked = 0
        self._ahead: Ahead | None = None

    def asks_first(self, slots: int) -> list[database.Asked]:
        """The rows behind the first floors, where not all of them are weighed before."""
        if self._weighs_all:
            return []
        size = window_size(slots)
        floors, reached = self.positions.next_floors(HEAD, *_sizes(size, 0), lambda group: False)
        if not floors:
            return []
        self._ahead = Ahead(floors, reached)
        return [self._question(floors, [])]

    def take_first(self, answers: list[Rows]) -> None:
        if self._ahead is not None:
            self._ahead = self._ahead._replace(rows=answers[0])

    def head_floor(self, slots: int) -> Floor | None:
        """That behind which the first rows stand; None where one statement cannot take the first.

        Rows of one rank alone: peers may hold all that are looked at, and what stands behind these goes
        before the rows of the next rank.
        """
        if self.positions.by_group:
            return None
        floors = self.positions.floors_of(WHOLE_LINE, HEAD, slots * HELD)
        return floors[0] if len(floors) == 1 else None

    def saw(self, floor: Floor, rows: list[Candidate]) -> None:
        """Note what was read behind it elsewhere, all that is there and in line order, for `rise`."""
        self._seen[floor] = rows

    def begin(self, planner: Planner) -> None:
        """Nothing is told before it is asked for."""

    def next_window(self, planner: Planner) -> Window:
        reached, rows = self._next_rows(planner)
        self._windows += 1
        for floor, found in rows.items():
            if len(found) == floor.limit:
                reached = min(reached, found[-1].place)
        in_order = sorted((row for found in rows.values() for row in found), key=_place)
        return Window(in_order, ended=reached == END, reached=reached)

    def _next_rows(self, planner: Planner) -> tuple[Place, dict[Floor, list[Candidate]]]:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.rows is not None:
            return ahead.reached, self._take(ahead.floors, [], ahead.rows)
        sizes = _sizes(planner.window, self._windows)
        floors, reached = self.positions.next_floors(planner.cursor, *sizes, self._leaves_out(planner))
        return reached, self._read(floors, planner)

    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]:
        wanted = {seek: self._floors_of(seek) for seek in planner.next_groups}
        rows = self._read([floor for floors in wanted.values() for floor in floors], planner)
        found = {seek: [row for floor in floors for row in rows[floor]] for seek, floors in wanted.items()}
        return [(seek, found[seek][: seek.limit]) for seek in wanted]

    def walk(self, planner: Planner, busy: int) -> Directory | None:
        """The positions name every group, without a walk; in default order windows do better."""
        return Directory(self.positions.places(), complete=True) if self._weighs_all else None

    @property
    def _weighs_all(self) -> bool:
        if not self.positions.fair or not self.positions.by_group:
            return False
        return len(self.positions) <= FEW_PLACES + PLACES_A_FLOOR * self._asked

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
        if not floors:
            return {}
        keys = self._keys(floors, planner)
        return self._take(floors, keys, database.fetch(*self._question(floors, keys), self.using))

    def _take(self, floors: Sequence[Floor], keys: list[str], told: Rows) -> dict[Floor, list[Candidate]]:
        """The rows behind each floor, in line order."""
        self._asked += len(floors)
        rows: dict[Floor, list[Candidate]] = {floor: [] for floor in floors}
        for position, *row in told:
            rows[floors[position - 1]].append(Candidate(*row))
        self._seen.update((floor, rows[floor]) for floor in floors if _shows_all(floor.group, keys))
        return rows

    def _keys(self, floors: Sequence[Floor], planner: Planner) -> list[str]:
        """The keys to leave out, which only rows of partitions and of a line kept whole can differ in."""
        if self.positions.by_group and all(partition_of(floor.group) is None for floor in floors):
            return []
        return planner.exclusions.keys

    def _question(self, floors: Sequence[Floor], keys: list[str]) -> database.Asked:
        columns = {
            "groups": [floor.group for floor in floors],
            "ranks": [floor.rank for floor in floors],
            "lines": [floor.line for floor in floors],
            "limits": [floor.limit for floor in floors],
        }
        statement = "read_floors" if self.positions.by_group else "read_behind"
        return statement, {**self.params, **columns, "keys": keys}


def _sizes(window: int, windows: int) -> tuple[int, int]:
    """How many floors to ask next, and for how many rows: a plan takes few of one group."""
    first = window >> windows >> 2
    return first * GROWTH**windows, max(first, window // DEPTH)


def _shows_all(group: str, keys: list[str]) -> bool:
    """Whether a read that leaves out these limit keys passes over no row of the group unseen."""
    key = limit_key_of(group)
    return not keys or (key is not None and key not in keys)
