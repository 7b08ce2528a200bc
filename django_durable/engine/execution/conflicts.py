"""How often a transaction is tried again because PostgreSQL asks for it: not for ever, and not at once."""

from __future__ import annotations

from random import random

MOST = 30
LONGEST = 0.5  # seconds


class Conflicts:
    """Of one transaction; what conflicts each time is no accident: a trigger does it, or the code called."""

    def __init__(self) -> None:
        self.count = 0

    def pause(self) -> float | None:
        """Seconds to wait before the next try, so that rivals part; None: it was tried often enough."""
        self.count += 1
        if self.count > MOST:
            return None
        longest: float = min(0.002 * 2**self.count, LONGEST)
        return longest * random()
