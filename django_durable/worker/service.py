"""The one loop of the package: a named thread that does its duties when they are due and rests in between."""

from __future__ import annotations

import logging
import math
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from django.db import Error, InterfaceError, OperationalError, connections

from django_durable.models.outage import hang_up, is_read_only, tells_of_the_line
from django_durable.worker.polling.bell import Bell
from django_durable.worker.trouble import Outages, Trouble

SHORTEST_PAUSE = 0.05
LONGEST_PAUSE = 5.0
SPREAD = 0.5  # the least part of a pause: a fleet that lost its database does not come back as one

logger = logging.getLogger("django_durable.worker")


class Duty:
    """One thing that a service does again and again."""

    name = "duty"

    def tick(self) -> float:
        """Do one unit of work; returns the seconds to rest, infinite to rest until woken."""
        raise NotImplementedError

    def finish(self) -> None:
        """Do what is left to do at the end; an error here is logged and holds up nothing."""


class Turn:
    """When one duty is due next, and how often it failed since it last succeeded."""

    def __init__(self, duty: Duty) -> None:
        self.duty = duty
        self.trouble = Trouble(duty.name)
        self.due = 0.0
        self.woken = False

    def is_due(self, now: float) -> bool:
        """A wake-up cuts a rest, but not the pause after a failure."""
        return now >= self.due or (self.woken and not self.trouble.failures)

    def rest(self, now: float) -> float:
        return 0.0 if self.is_due(now) else self.due - now


class Service:
    """Does its duties on a thread and a database connection of its own until it is stopped.

    `start` and `stop` may come in any order, any number of times. What a duty raises is logged, once a kind,
    and the duty is tried again after a pause. A lost connection is closed: the next try has a new one.
    """

    def __init__(
        self,
        name: str,
        *duties: Duty,
        using: str,
        outages: Outages | None = None,
        jitter: float = 0.0,
        longest_pause: float = LONGEST_PAUSE,
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.using = using
        self.jitter = jitter
        self.longest_pause = longest_pause
        self.rounds = 0
        self._turns = [Turn(duty) for duty in duties]
        self._outages = outages or Outages()
        self._interrupt = interrupt
        self._bell = Bell()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._ticking_since: float | None = None
        self._wire: Callable[[], int] | None = None

    def start(self) -> None:
        while True:
            with self._lock:
                thread = self._thread
                if thread is None or not thread.is_alive() or thread is threading.current_thread():
                    self._begin(thread)
                    return
                if not self._stopping:
                    return
            thread.join()

    def stop(self, timeout: float | None = None) -> bool:
        """Let the tick under way end, then finish; False if that took longer than `timeout` seconds."""
        self.ask_to_stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def ask_to_stop(self) -> None:
        with self._lock:
            self._stopping = True
        self._ring()

    def wake(self, duty: Duty | None = None) -> None:
        """Cut the rest of one duty, or of all."""
        for turn in self._turns:
            if duty is None or turn.duty is duty:
                turn.woken = True
        self._ring()

    @property
    def is_alive(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    @property
    def stuck_for(self) -> float:
        """Seconds since the tick under way began; 0 between ticks."""
        since = self._ticking_since
        return 0.0 if since is None else time.monotonic() - since

    def sever(self) -> None:
        """Cut the line to the database under a tick that does not come back: its call then fails."""
        if self._wire is not None:
            with suppress(OSError, Error), socket.socket(fileno=self._wire()) as line:
                line.shutdown(socket.SHUT_RDWR)

    def _begin(self, ended: threading.Thread | None) -> None:
        self._stopping = False
        if ended is threading.current_thread():
            return
        for turn in self._turns:
            turn.due, turn.woken = 0.0, False
        self.rounds = 0
        self._thread = threading.Thread(target=self._run, name=f"durable-{self.name}")
        self._thread.start()

    def _ring(self) -> None:
        self._bell.ring()
        if self._interrupt is not None:
            self._interrupt()

    def _run(self) -> None:
        self._wire = _Wire(connections[self.using])
        try:
            while not self._stopping:
                self._round()
                if not self._stopping:
                    self._bell.wait(self._rest())
        finally:
            self._finish()

    def _round(self) -> None:
        for turn in self._turns:
            if self._stopping:
                return
            if turn.is_due(time.monotonic()):
                self._take(turn)
        self.rounds += 1

    def _take(self, turn: Turn) -> None:
        turn.woken = False
        self._ticking_since = time.monotonic()
        try:
            rest = turn.duty.tick()
        except BaseException as error:  # a thread has nobody above it who would do better
            rest = self._failed(turn, error)
        else:
            self._succeeded(turn)
        self._ticking_since = None
        turn.due = time.monotonic() + rest * random.uniform(1 - self.jitter, 1 + self.jitter)

    def _rest(self) -> float:
        now = time.monotonic()
        return min((turn.rest(now) for turn in self._turns), default=math.inf)

    def _succeeded(self, turn: Turn) -> None:
        if turn.trouble.failures:
            turn.trouble.succeeded()
            self._outages.ended(turn, self.using)

    def _failed(self, turn: Turn, error: BaseException) -> float:
        is_away = tells_of_the_line(error) or is_read_only(error)  # there is only this connection here
        if is_away:
            turn.trouble.excused()
            self._outages.began(turn, self.using, error)
        else:
            turn.trouble.failed(error)
        if is_away or isinstance(error, OperationalError | InterfaceError):
            hang_up(self.using)
        pause = min(SHORTEST_PAUSE * 2.0 ** min(turn.trouble.failures - 1, 16), self.longest_pause)
        return pause * random.uniform(SPREAD, 1.0)

    def _finish(self) -> None:
        for turn in self._turns:
            try:
                self._let_finish(turn.duty)
            except Exception as error:
                extra = {"event": "unfinished", "duty": turn.duty.name}
                logger.warning("%s could not finish: %s", turn.duty.name, error, extra=extra)
        self._wire = None
        connections.close_all()

    def _let_finish(self, duty: Duty) -> None:
        try:
            duty.finish()
        except (OperationalError, InterfaceError):
            hang_up(self.using)  # it may have died while it rested
            duty.finish()


class _Wire:
    """A second handle on the socket of another thread's connection."""

    def __init__(self, wrapper: object) -> None:
        self.wrapper = wrapper

    def __call__(self) -> int:
        raw = getattr(self.wrapper, "connection", None)
        if raw is None:
            raise OSError("not connected")
        return int(socket.dup(raw.fileno()))
