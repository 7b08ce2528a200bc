"""What the operating system asks of this process: stop, stop now, tell where you are."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import traceback
from types import FrameType
from typing import Any

from django_durable.worker.polling.bell import Bell

STOPS = ("SIGTERM", "SIGINT", "SIGHUP")
STACKS = "SIGQUIT"
EXIT_CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}

logger = logging.getLogger("django_durable.worker")


class Requests:
    """Counted from `install` on, before there is anything to stop. Outside the main thread there are none."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.wants_stop = False
        self.wants_force = False
        self.wants_stacks = False
        self.last = ""
        self._stops = 0
        self._former: dict[int, Any] = {}

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread() or self._former:
            return
        for name in (*STOPS, STACKS):
            number = getattr(signal, name, None)
            if number is not None:
                self._former[number] = signal.signal(number, self._received)

    def restore(self) -> None:
        for number, former in self._former.items():
            signal.signal(number, signal.SIG_DFL if former is None else former)
        self._former.clear()

    def stop(self) -> None:
        self.wants_stop = True
        self.bell.ring()

    def force(self) -> None:
        self.wants_stop = self.wants_force = True
        self.bell.ring()

    @property
    def exit_code(self) -> int:
        """0 after a drain; after a second signal what a shell expects of one killed by it."""
        return EXIT_CODES.get(self.last, 1) if self.wants_force else 0

    def _received(self, number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if name == STACKS:
            self.wants_stacks = True
        else:
            self.last = name
            self._stops += 1
            self.wants_stop = True
            self.wants_force = self.wants_force or self._stops > 1
        self.bell.ring()


def log_stacks() -> None:
    """Write where every thread is to the log."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        name = names.get(ident, str(ident))
        stack = "".join(traceback.format_stack(frame))
        logger.warning("thread %s:\n%s", name, stack, extra={"event": "stack", "thread_name": name})
