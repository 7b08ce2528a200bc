"""How often a transaction is tried again because PostgreSQL asks for it: not for ever, and not at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from random import random
from typing import TypeVar

from django.db import Error, connections

from django_durable.models.codes import code_of

R = TypeVar("R")

RETRYABLE = frozenset({"40001", "40P01"})  # serialization failure, deadlock
LOCKED = "55P03"
MOST = 30
TOLD = 5  # tries in vain after which it is no accident, some 0.1 s later
LONGEST = 0.5  # seconds

logger = logging.getLogger("django_durable.outages")


class Conflicts:
    """Of one transaction; what conflicts each time is no accident: a trigger does it, or the code called."""

    def __init__(self) -> None:
        self.count = 0

    def pause(self, error: BaseException) -> float | None:
        """Seconds to wait before the next try, so that rivals part; None: no conflict, or one too many."""
        if not is_conflict(error):
            return None
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


def is_conflict(error: BaseException) -> bool:
    """Whether PostgreSQL asks for the transaction to be tried again."""
    return code_of(error) in RETRYABLE


def is_locked(error: BaseException) -> bool:
    """Whether a lock that somebody else holds was not waited for any longer."""
    return code_of(error) == LOCKED


def through_conflicts(transact: Callable[[], R], using: str) -> R:
    """The result of a transaction, tried again while PostgreSQL asks for it, up to a bound.

    A part of the caller's transaction is tried once, as all of that would have to be.
    """
    conflicts = Conflicts()
    while True:
        try:
            return transact()
        except Error as error:
            pause = conflicts.pause(error)
            if pause is None or connections[using].in_atomic_block:
                raise
        time.sleep(pause)
