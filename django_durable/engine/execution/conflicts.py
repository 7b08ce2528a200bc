"""How often a transaction is tried again because PostgreSQL asks for it: not for ever, and not at once."""

from __future__ import annotations

import logging
from random import random

MOST = 30
TOLD = 5  # tries in vain after which it is no accident, some 0.1 s later
LONGEST = 0.5  # seconds

logger = logging.getLogger("django_durable.outages")


class Conflicts:
    """Of one transaction; what conflicts each time is no accident: a trigger does it, or the code called."""

    def __init__(self) -> None:
        self.count = 0

    def pause(self, error: BaseException) -> float | None:
        """Seconds to wait before the next try, so that rivals part; None: it was tried often enough."""
        self.count += 1
        if self.count == TOLD:
            extra = {"event": "conflicts", "tries": self.count}
            logger.warning(
                "PostgreSQL asked %d times for a transaction to be tried again; it is, up to %d times: %s",
                self.count,
                MOST,
                error,
                extra=extra,
            )
        if self.count > MOST:
            logger.error("a transaction conflicted %d times and is given up: %s", self.count, error)
            return None
        longest: float = min(0.002 * 2**self.count, LONGEST)
        return longest * random()
