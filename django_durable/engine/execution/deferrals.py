"""When runs come back whose code is not here: so many a second at most, however many there are.

They keep their places, which may be the first ones. A worker that had thousands of them in line would do
nothing but claim them and put them off.
"""

from __future__ import annotations

import threading

A_SECOND = 50


class Deferrals:
    """Of all runs that one process leaves to others. All is seconds, and instants are monotonic."""

    def __init__(self) -> None:
        self._last = 0.0  # by when, at that pace, the last one comes back
        self._lock = threading.Lock()

    def after(self, least: float, now: float) -> float:
        """How long the next one stays away: not less than `least`, and behind those before it."""
        with self._lock:
            self._last = max(self._last, now) + 1 / A_SECOND
            return max(least, self._last - now)
