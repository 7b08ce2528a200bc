"""What a claim reads of a workflow in line: enough to rank it, and no more."""

from __future__ import annotations

from typing import NamedTuple

# (rank, line): where a row stands in the line of its queue; smaller is nearer the head.
Place = tuple[int, int]

# Beyond every rank a smallint priority can give, and still integers for a row comparison in SQL.
HEAD: Place = (-(1 << 30), 0)
END: Place = (1 << 30, 0)

# What a group is named after; two characters each.
PARTITION, LIMIT_KEY = "p:", "k:"


class Candidate(NamedTuple):
    """One row of a window: `rank` is the negated priority, `line` its unique number within the queue."""

    id: str
    rank: int
    line: int
    partition: str | None = None
    limit_key: str | None = None

    @property
    def place(self) -> Place:
        return self.rank, self.line

    @property
    def group(self) -> str:
        return group_of(self.partition, self.limit_key)


def group_of(partition: str | None, limit_key: str | None) -> str:
    """Name what fairness is fair between; the prefix keeps partition 'a' apart from limit key 'a'."""
    if partition is not None:
        return PARTITION + partition
    return "" if limit_key is None else LIMIT_KEY + limit_key


def partition_of(group: str) -> str | None:
    """Tell the one partition all rows of a group share; the null partition for groups that have none."""
    return group[2:] if group[:2] == PARTITION else None


def limit_key_of(group: str) -> str | None:
    """Tell the limit key all rows of a group share; None where they may differ or have none."""
    return group[2:] if group[:2] == LIMIT_KEY else None
