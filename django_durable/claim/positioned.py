"""Read the line behind positions, not from its head, and let them rise by what a committed claim saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from django_durable.claim.windows import Directory, Window
from django_durable.core.planning.candidates import Candidate, limit_key_of
from django_durable.core.planning.planner import Planner, Seek
from django_durable.core.planning.positions import WHOLE_LINE, Floor, Positions
from django_durable.models import WorkflowStatus

_place = attrgetter("rank", "line")


class PositionedReader:
    """Feeds one planner from the positions of one queue; the counterpart of windows.LineReader."""

    def __init__(self, queue: str, ready: dict[str, Any], using: str, positions: Positions) -> None:
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.params = {"queue": queue, **ready}
        self.positions = positions
        self._seen: dict[Floor, list[Candidate]] = {}

    def begin(self, planner: Planner) -> None:
        """Tell the planner every group there may be, where groups matter."""
        if self.positions.by_group:
            planner.directory(self.positions.places(), True)

    def next_window(self, planner: Planner) -> Window:
        size = planner.window
        floors = self.positions.floors_of(WHOLE_LINE, planner.cursor, size)
        rows = self._read("read_behind", floors, planner)
        return Window(rows[:size], ended=len(rows) < size)

    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]:
        seeks = planner.next_groups
        wanted = {seek.group: self.positions.floors_of(seek.group, seek.after, seek.limit) for seek in seeks}
        rows = self._read("read_floors", [floor for floors in wanted.values() for floor in floors], planner)
        found: dict[str, list[Candidate]] = defaultdict(list)
        for row in rows:
            found[row.group].append(row)
        return [(seek, found[seek.group][: seek.limit]) for seek in seeks]

    def walk(self, busy: int) -> Directory | None:
        """Nothing is left to walk: the positions name every group."""

    def rise(self, taken: Iterable[str]) -> None:
        """Note what the claim saw and took; to be called once it is committed."""
        gone = frozenset(taken)
        for floor, seen in self._seen.items():
            self.positions.rise(floor, seen, gone)

    def _read(self, statement: str, floors: Sequence[Floor], planner: Planner) -> list[Candidate]:
        keys = planner.exclusions.keys
        columns = {
            "groups": [floor.group for floor in floors],
            "ranks": [floor.rank for floor in floors],
            "lines": [floor.line for floor in floors],
            "limits": [floor.limit for floor in floors],
        }
        found = self.runs.read_floors(statement, {**self.params, **columns, "keys": keys})
        rows: dict[int, list[Candidate]] = defaultdict(list)
        for position, row in found:
            rows[position - 1].append(row)
        for position, floor in enumerate(floors):
            if not keys or limit_key_of(floor.group) is not None:  # else rows were passed over unseen
                self._seen[floor] = rows[position]
        return sorted((row for _, row in found), key=_place)
