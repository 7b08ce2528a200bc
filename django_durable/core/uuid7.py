"""Ids that sort by the time they were made: UUID version 7 (RFC 9562)."""

from __future__ import annotations

import os
import time
from heapq import heappushpop

NANOSECONDS = 1_000_000  # in a millisecond
STEPS = 1 << 12  # of a millisecond: what the 12 bits after the version hold

# The highest stamp given out. `heappushpop` keeps the higher of two in one uninterruptible step; a lock would
# have to survive forks and OS signals.
_highest = [0]


def uuid7() -> str:
    """Each id is greater than every one this process made before, even if the clock is set back."""
    stamp = _next_stamp()
    milliseconds, step = divmod(stamp, STEPS)
    chance = int.from_bytes(os.urandom(8), "big") >> 2
    number = milliseconds << 80 | 0x7 << 76 | step << 64 | 0b10 << 62 | chance
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _next_stamp() -> int:
    milliseconds, rest = divmod(time.time_ns(), NANOSECONDS)
    stamp = milliseconds * STEPS + rest * STEPS // NANOSECONDS
    while heappushpop(_highest, stamp) == stamp:  # not above the highest, so it was thrown out again
        stamp = _highest[0] + 1
    return stamp
