"""Read the line in windows without locking, and in turn with them walk the directory of its groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from django_durable.core.candidates import Candidate, limit_key_of, partition_of
from django_durable.core.planner import Planner, Seek
from django_durable.models import WorkflowStatus

WINDOWS_BEFORE_DIRECTORY = 2
GROUPS_A_STEP = 128


class LineReader:
    """Feeds one planner from one queue."""

    def __init__(self, queue: str, ready: dict[str, Any], using: str) -> None:
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.params = {"queue": queue, **ready}
        self._windows = 0
        self._walked_to: str | None = None
        self._walk_ended = False
        self._groups = GROUPS_A_STEP

    def begin(self, planner: Planner) -> None:
        """Nothing is known before the first window."""

    def next_window(self, planner: Planner) -> tuple[list[Candidate], bool]:
        """The rows behind the planner's cursor, and whether the line ended with them."""
        self._windows += 1
        rank, line = planner.cursor
        size = planner.window
        rows = self.runs.read_window(
            {**self.params, "rank": rank, "line": line, "size": size, **left_out(planner)}
        )
        return rows, len(rows) < size

    def next_groups(self, planner: Planner) -> list[tuple[Seek, list[Candidate]]]:
        """The next rows of the groups that can still win."""
        seeks = planner.next_groups
        rows = self.runs.read_groups({**self.params, "keys": planner.exclusions.keys, **_columns(seeks)})
        found = {group: [row for _, row in of_group] for group, of_group in groupby(rows, key=itemgetter(0))}
        return [(seek, found.get(seek.group, [])) for seek in seeks]

    def walk(self, planner: Planner) -> None:
        """Go on with the directory, once some windows did not settle the plan; each step is twice as long."""
        if self._walk_ended or self._windows < WINDOWS_BEFORE_DIRECTORY:
            return
        found = self.runs.walk_groups({**self.params, "after": self._walked_to, "groups": self._groups})
        self._walk_ended = len(found) < self._groups
        self._groups *= 2
        if found:
            self._walked_to = found[-1][0]
        planner.directory(dict(found), self._walk_ended)


def left_out(planner: Planner) -> dict[str, list[str]]:
    """The planner's exclusions as the statement takes them; '' stands for the null partition and the null key."""
    excluded = planner.exclusions
    partitions = [name or "" for name in excluded.partitions]
    key_groups = []
    for group in excluded.groups:
        partition = partition_of(group)
        if partition is not None:
            partitions.append(partition)
        else:
            key_groups.append(limit_key_of(group) or "")
    return {"keys": excluded.keys, "partitions": partitions, "key_groups": key_groups}


def _columns(seeks: Sequence[Seek]) -> dict[str, list[Any]]:
    return {
        "groups": [seek.group for seek in seeks],
        "ranks": [seek.after[0] for seek in seeks],
        "lines": [seek.after[1] for seek in seeks],
        "limits": [seek.limit for seek in seeks],
    }
