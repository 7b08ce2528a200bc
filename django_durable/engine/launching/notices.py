"""Hints to listening workers that something was put in line. Correctness never depends on them."""

from __future__ import annotations

import threading
import time

from django_durable.conf import settings
from django_durable.models import database

PER_SECOND = 10


class Throttle:
    """At most `rate` permits a second, never saved up beyond one second's worth."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._permits = rate
        self._refilled = time.monotonic()
        self._lock = threading.Lock()

    def allows(self) -> bool:
        with self._lock:
            now = time.monotonic()
            self._permits = min(self.rate, self._permits + (now - self._refilled) * self.rate)
            self._refilled = now
            if self._permits < 1:
                return False
            self._permits -= 1
            return True


_throttle = Throttle(PER_SECOND)


def give_notice(using: str) -> None:
    """Send one notice when the caller's transaction commits, unless enough were sent lately."""
    if settings().notify and _throttle.allows():
        database.fetch("notify", {}, using)
