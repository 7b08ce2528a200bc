"""A wake-up call that is never lost, and that an OS signal's handler may make."""

from __future__ import annotations

import math
import threading
from contextlib import suppress


class Bell:
    """Rung before it is waited for, it ends the next wait at once; rung twice, it still ends one."""

    def __init__(self) -> None:
        self._closed = threading.Lock()
        self._closed.acquire()

    def ring(self) -> None:
        with suppress(RuntimeError):  # it was rung already
            self._closed.release()

    def wait(self, seconds: float = math.inf) -> bool:
        """Whether it rang within that time."""
        if seconds <= 0:
            return self._closed.acquire(blocking=False)
        if seconds == math.inf:
            return self._closed.acquire()  # without a timer
        return self._closed.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
