"""How often one queue is asked for: its own interval, longer while the database has conflicts."""

from __future__ import annotations

SOON = 0.02  # seconds, after which a peer that claims is through
LONGEST = 120.0
SLOWER = 2.0
FASTER = 0.9


class Cadence:
    """`own` is seconds, and may change at any time; the interval in force follows it."""

    def __init__(self, own: float) -> None:
        self.own = own
        self._stretch = 1.0

    @property
    def interval(self) -> float:
        return min(self.own * self._stretch, max(self.own, LONGEST))

    def met_conflict(self) -> None:
        """PostgreSQL refused the claim with 40001: too many ask at once."""
        self._stretch = self.interval * SLOWER / self.own

    def went_well(self) -> None:
        self._stretch = max(1.0, self.interval * FASTER / self.own)
