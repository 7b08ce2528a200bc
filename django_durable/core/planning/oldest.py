"""From which claim on the runs of a bucket may be in flight, so that a count need not walk those that ended.

A claim draws a number for each run it marks, from a sequence that only rises. The run keeps it exactly while
it is in flight, also while it waits and holds its slot; one that comes back to the line loses it, and draws a
new one with its next claim. No statement changes the queue or the limit key of a run in flight.

For each bucket that is counted, a queue or a limit key, its *oldest*: no run of the bucket with a number
below it is in flight, and none will be. Why that is so:

* A look reads the last number drawn, L, and after that who holds the lock that each draw takes on the
  sequence, and that is let go only once the drawing transaction ended and others see what it wrote. When none
  of these transactions is left, the claims up to L are *over*: committed, and seen by each statement that
  begins from then on, or rolled back.
* A count that begins after that sees every run in flight with a number up to L. Let m be the lowest number it
  found. Below the lesser of m and L + 1 nothing is in flight; what was and left does not come back with its
  old number, and what is drawn later is above L. So nothing will be. That is the bucket's next oldest.
* It is enough to begin the count at the bucket's oldest of before, by the same.

No lock of a bucket is part of the argument, and it does not matter which limits a claim knew of: a limit may
be made, changed, deleted and made again, and a fair queue is counted without holding its row. A claim that is
rolled back has counted no less than one that is committed. What would break it are numbers that fall: the
next look notices a sequence that was set back, and nothing is remembered from one connection to the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

FROM_NOTHING = 0
MOST_BUCKETS = 20_000


class Oldest:
    """What one process knows of the buckets of one database."""

    __slots__ = ("_last", "_of", "_over", "_under_way")

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._over = 0
        self._last = 0  # is over once none of these is under way
        self._under_way: AbstractSet[str] = frozenset()

    def look(self, last: int, under_way: AbstractSet[str]) -> None:
        """Take note of the last number drawn, and of the drawing transactions that were open after that."""
        if last < self._last:
            self._of, self._over, self._last, self._under_way = {}, 0, 0, frozenset()
        if self._under_way.isdisjoint(under_way):
            self._over, self._last, self._under_way = self._last, last, under_way
        if not under_way:
            self._over = last

    def of(self, bucket: str) -> int:
        """Where to begin to count it."""
        return self._of.get(bucket, FROM_NOTHING)

    @property
    def buckets(self) -> Iterable[str]:
        """Those it knows something of."""
        return self._of.keys()

    def note(self, bucket: str, first: int | None) -> None:
        """Take note of the lowest number that a count from there on found, made after the last look."""
        if bucket not in self._of and len(self._of) >= MOST_BUCKETS:
            self._of.clear()
        behind = self._over + 1
        self._of[bucket] = behind if first is None else min(first, behind)
