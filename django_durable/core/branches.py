"""Which number a durable call bears: told by its place in the body, never by when it happens to be made.

A body counts its calls from 1. Each task that an async body starts is a branch, known by which task of its
starter it is; its calls have a thousand numbers of their own, high above those of the body. Calls beyond
these, and those of branches of branches, are scattered over the numbers that are left. What of them a cut
at a number of the body leaves is told by when they began (sql/fragments/older_branches.sql).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

FIRST = 1_000_000
WIDTH = 1_000
SCATTERED = 1 << 30
LAST = (1 << 31) - 1  # of a column of integers; no call bears it


@dataclass(slots=True)
class Branch:
    """One line of calls; `path` says which task of which it is, and is empty for the body itself."""

    path: tuple[int, ...] = ()
    calls: int = 0
    tasks: int = 0
    has_place: bool = True

    def started(self, *, in_order: bool = True) -> Branch:
        """The branch of the task that is started here now; `in_order`: the code says which one that is."""
        self.tasks += 1
        return Branch((*self.path, self.tasks), has_place=self.has_place and in_order)

    @property
    def next_number(self) -> int:
        return number_of(self.path, self.calls + 1)

    def take_number(self) -> int:
        number = self.next_number
        self.calls += 1
        return number


def number_of(path: tuple[int, ...], call: int) -> int:
    """The number of the `call`-th call there, from 1."""
    if not path:
        return call
    number = FIRST + path[0] * WIDTH + call - 1
    if len(path) == 1 and call <= WIDTH and number < SCATTERED:
        return number
    place = ".".join(map(str, (*path, call))).encode()
    return SCATTERED + int.from_bytes(hashlib.sha256(place).digest()[:8], "big") % (LAST - SCATTERED)
