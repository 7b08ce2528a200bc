"""Read the line in windows without locking, and in turn with them walk the directory of its groups.

Each window looks at a bounded stretch of the line and each step of the walk at a bounded number of groups,
and both bounds grow alike: whichever comes to an end first, the other has cost no more than a few times as
much. So a claim costs what the smaller of the two does, the rows it has to pass over or the groups there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django_durable.core.planning.budget import SEPARATOR
from django_durable.core.planning.candidates import HEAD, Candidate, Place, limit_key_of, partition_of
from django_durable.core.planning.planner import Planner, Seek, window_size
from django_durable.models import WorkflowStatus, database

WINDOWS_BEFORE_DIRECTORY = 1
STRETCH = 4000
GROUPS_A_STEP = 256
MOST_GROUPS_AT_FIRST = 1000
GROWTH = 4


class Window(NamedTuple):
    """Rows in line order; `ended` if none is behind them, `reached` where more than they were passed over."""

    rows: list[Candidate]
    ended: bool
    reached: Place | None = None


class Directory(NamedTuple):
    """A part of the walk: the place of each group's first row; `complete` if no group is left."""

    places: Mapping[str, Place]
    complete: bool


class LineReader:
    """Feeds one planner from one queue."""

    def __init__(self, queue: str, ready: dict[str, Any], using: str) -> None:
        self._first: Window | None = None
        self._size_of_first = 0
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.params = {"queue": queue, **ready}
        self._windows = 0
        self._walked: dict[str, Place] = {}
        self._walked_to: str | None = None
        self._walk_ended = False

    def asks_first(self, slots: int) -> list[database.Asked]:
        """The first window."""
        self._size_of_first = window_size(slots)
        rank, line = HEAD
        return [("read_window", {**self.params, "rank": rank, "line": line, "size": self._size_of_first})]

    def take_first(self, answers: list[list[tuple[Any, ...]]]) -> None:
        rows = [Candidate(*row) for row in answers[0]]
        self._first = Window(rows, ended=len(rows) < self._size_of_first)

    def begin(self, planner: Planner) -> None:
        """Nothing is known before the first window."""

    def next_window(self, planner: Planner) -> Window:
        """The rows behind the planner's cursor, those left out that cannot be claimed from."""
        self._windows += 1
        if self._first is not None and self._windows == 1:
            return self._first
        (rank, line), size = planner.cursor, planner.window
        params = {**self.params, "rank": rank, "line": line, "size": size}
        if self._windows == 1:
            rows = self.runs.read_window(params)
            return Window(rows, ended=len(rows) < size)
        stretch = max(size, self._grown(STRETCH) // GROWTH)
        rows, reached = self.runs.read_past({**params, "stretch": stretch, **left_out(planner)})
        if len(rows) == size:
            return Window(rows, ended=False)
        return Window(rows, ended=reached is None, reached=reached)

    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]:
        """The next rows of the groups that can still win."""
        seeks = planner.next_groups
        rows = self.runs.read_groups({**self.params, "keys": _keys(planner, seeks), **_columns(seeks)})
        found = {group: [row for _, row in of_group] for group, of_group in groupby(rows, key=itemgetter(0))}
        return [(seek, found.get(seek.group, [])) for seek in seeks]

    def walk(self, planner: Planner, busy: int) -> Directory | None:
        """Go on with the directory, once windows did not settle the plan: all groups known by now.

        Not those that have no room at all.
        `busy`: how many groups have runs in flight; about as many are likely to be in line.
        """
        if self._walk_ended or self._windows < WINDOWS_BEFORE_DIRECTORY:
            return None
        groups = max(self._grown(GROUPS_A_STEP), min(2 * busy + 1, MOST_GROUPS_AT_FIRST))
        shut = SEPARATOR.join(planner.shut_groups)
        asked = {**self.params, "after": self._walked_to, "groups": groups, "shut": shut}
        found, self._walked_to, self._walk_ended = self.runs.walk_groups(asked)
        self._walked.update(found)
        return Directory(self._walked, self._walk_ended)

    def _grown(self, bound: int) -> int:
        return int(bound * GROWTH ** (self._windows - 1))


def _keys(planner: Planner, seeks: Sequence[Seek]) -> str:
    """The keys to leave out, joined as the statements take them; only partitions hold rows of other keys."""
    has_partition = any(partition_of(seek.group) is not None for seek in seeks)
    return SEPARATOR.join(planner.exclusions.keys) if has_partition else ""


def left_out(planner: Planner) -> dict[str, Any]:
    """The planner's exclusions as the statement takes them; '' stands for the null partition and key."""
    excluded = planner.exclusions
    partitions = [name or "" for name in excluded.partitions]
    key_groups = []
    for group in excluded.groups:
        partition = partition_of(group)
        if partition is not None:
            partitions.append(partition)
        else:
            key_groups.append(limit_key_of(group) or "")
    return {"keys": SEPARATOR.join(excluded.keys), "partitions": partitions, "key_groups": key_groups}


def _columns(seeks: Sequence[Seek]) -> dict[str, list[Any]]:
    return {
        "groups": [seek.group for seek in seeks],
        "ranks": [seek.after[0] for seek in seeks],
        "lines": [seek.after[1] for seek in seeks],
        "limits": [seek.limit for seek in seeks],
    }
