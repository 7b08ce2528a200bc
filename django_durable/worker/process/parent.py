"""Several worker processes under one command: started, replaced when they die, stopped together."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Sequence

from django_durable.worker.process import leash
from django_durable.worker.process.os_signals import Requests, log_stacks

WATCH = 0.2
GRACE = 10.0  # seconds beyond their own timeout that workers are waited for
HEALTHY = 10.0  # seconds after which a death does not count as one at the start
LONGEST_PAUSE = 30.0

logger = logging.getLogger("django_durable.worker")


class Place:
    """One of the processes: whoever fills it now."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command
        self.child: subprocess.Popen[bytes] | None = None
        self.starts_at = 0.0
        self._began = 0.0
        self._deaths = 0

    def fill(self) -> None:
        self._began = time.monotonic()
        self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE)

    @property
    def is_running(self) -> bool:
        return self.child is not None and self.child.poll() is None

    @property
    def is_empty(self) -> bool:
        return self.child is None

    def clear(self) -> int:
        """Take leave of a child that ended; returns its exit code, below zero the signal that killed it."""
        assert self.child is not None
        code = self.child.wait()
        if self.child.stdin is not None:
            self.child.stdin.close()
        self.child = None
        lived = time.monotonic() - self._began
        self._deaths = 0 if code == 0 or lived > HEALTHY else self._deaths + 1
        pause = min(2.0 ** (self._deaths - 2), LONGEST_PAUSE) if self._deaths > 1 else 0.0
        self.starts_at = time.monotonic() + pause
        return code


class Parent:
    """Holds no database connection. A child that ends with 0 in a burst is done; any other is replaced."""

    def __init__(
        self, commands: Sequence[Sequence[str]], requests: Requests, *, shutdown_timeout: float, burst: bool
    ) -> None:
        self.places = [Place(command) for command in commands]
        self.requests = requests
        self.shutdown_timeout = shutdown_timeout
        self.burst = burst

    def run(self) -> int:
        """Returns the exit code."""
        logger.info("%d workers", len(self.places), extra={"event": "start", "processes": len(self.places)})
        while not self.requests.wants_stop and self.places:
            self._fill()
            self.requests.bell.wait(WATCH)
            self._watch()
        self._stop()
        return self.requests.exit_code

    def _fill(self) -> None:
        for place in self.places:
            if place.is_empty and time.monotonic() >= place.starts_at and not self.requests.wants_stop:
                place.fill()

    def _watch(self) -> None:
        if self.requests.wants_stacks:
            self.requests.wants_stacks = False
            log_stacks()
        for place in [place for place in self.places if not place.is_empty and not place.is_running]:
            pid = place.child.pid if place.child else 0
            code = place.clear()
            if code == 0 and self.burst:
                self.places.remove(place)
            elif not self.requests.wants_stop:
                _tell(pid, code)

    def _stop(self) -> None:
        self._pull(leash.STOP)
        until = time.monotonic() + self.shutdown_timeout + GRACE
        is_forced = False
        while any(place.is_running for place in self.places) and time.monotonic() < until:
            if self.requests.wants_force and not is_forced:
                is_forced = True
                until = min(until, time.monotonic() + GRACE)
                self._pull(leash.FORCE)
            self.requests.bell.wait(WATCH)
        for place in self.places:
            if place.is_running and place.child:
                logger.error("worker %d does not end; it is killed", place.child.pid, extra={"event": "kill"})
                place.child.kill()
            if not place.is_empty:
                place.clear()

    def _pull(self, word: bytes) -> None:
        for place in self.places:
            if place.child is not None:
                leash.pull(place.child, word)


def _tell(pid: int, code: int) -> None:
    extra = {"event": "child_ended", "pid": pid, "exit_code": code}
    if code == 0:
        logger.info("worker %d ended as it should; another takes its place", pid, extra=extra)
    else:
        logger.error("worker %d died (%d); another takes its place", pid, code, extra=extra)
