"""What is said of failures that repeat: the first of a kind in full, then silence, then that it is over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Hashable

logger = logging.getLogger("django_durable.worker")


class Trouble:
    """The failures of one duty since it last succeeded."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.failures = 0
        self._since = 0.0
        self._told: set[Hashable] = set()

    def failed(self, error: BaseException) -> None:
        if not self.failures:
            self._since = time.monotonic()
        self.failures += 1
        kind = (type(error), sqlstate(error))
        if kind not in self._told:
            self._told.add(kind)
            extra = {"event": "failure", "duty": self.what, "sqlstate": kind[1]}
            logger.error("%s failed; it is tried again: %s", self.what, error, exc_info=error, extra=extra)

    def succeeded(self) -> None:
        if not self.failures:
            return
        if self._told:
            seconds = time.monotonic() - self._since
            extra = {"event": "recovered", "duty": self.what, "seconds": seconds, "failures": self.failures}
            logger.info(
                "%s works again after %d failures, %.1f s", self.what, self.failures, seconds, extra=extra
            )
        self.failures = 0
        self._told.clear()

    def excused(self) -> None:
        """A failure that somebody else tells of."""
        self._since = self._since if self.failures else time.monotonic()
        self.failures += 1


class Outages:
    """The database being away, told once for all parts of a process that notice it."""

    def __init__(self) -> None:
        self._away: set[object] = set()
        self._since = 0.0
        self._lock = threading.Lock()

    def began(self, part: object, alias: str, error: BaseException) -> None:
        with self._lock:
            is_first = not self._away
            self._away.add(part)
            if not is_first:
                return
            self._since = time.monotonic()
        extra = {"event": "outage", "database": alias}
        logger.warning(
            "lost the database %r, everything waits for it: %s", alias, _first_line(error), extra=extra
        )

    def ended(self, part: object, alias: str) -> None:
        with self._lock:
            if part not in self._away:
                return
            self._away.discard(part)
            if self._away:
                return
            seconds = time.monotonic() - self._since
        extra = {"event": "outage_over", "database": alias, "seconds": seconds}
        logger.info("the database %r is back after %.1f s", alias, seconds, extra=extra)


def sqlstate(error: BaseException | None) -> str | None:
    """PostgreSQL's code of an error that Django wrapped, if it has one."""
    while error is not None:
        code = getattr(error, "sqlstate", None)
        if code is not None:
            return str(code)
        error = error.__cause__
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]
