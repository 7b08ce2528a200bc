"""Runs that this worker gives back, kept until the database has them."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from django_durable.core.fence import Fence
from django_durable.core.run import Run
from django_durable.engine.execution.ownership import still_owned
from django_durable.maintenance.release import release
from django_durable.worker.service import Duty
from django_durable.worker.writing.aside import Aside

BATCH = 500

logger = logging.getLogger("django_durable.worker")


class Returns(Duty):
    """Releases what it is handed; through an outage too. A run whose row others hold waits for it alone."""

    name = "returns"

    def __init__(self, using: str) -> None:
        self.using = using
        self.wake: Callable[[], None] = lambda: None
        self.released = 0
        self._runs: deque[Run] = deque()
        self._begun: set[Fence] = set()
        self._locked: Aside[Run] = Aside()
        self._give_up_at = math.inf

    def hand_over(self, runs: Iterable[Run]) -> None:
        """Give back what no slot has begun."""
        self._runs.extend(runs)
        self.wake()

    def take_away(self, runs: Sequence[Run]) -> None:
        """Give back what has begun, and may still run: its start has been one."""
        self._begun.update(run.fence for run in runs)
        self.hand_over(runs)

    @property
    def backlog(self) -> int:
        return len(self._runs) + len(self._locked)

    def tick(self) -> float:
        self._runs.extend(self._locked.take(time.monotonic()))
        while self._runs:
            batch = [self._runs[position] for position in range(min(len(self._runs), BATCH))]
            unbegun = [run for run in batch if run.fence not in self._begun]
            released = release(batch, self.using, unbegun)
            self.released += len(released)
            locked = still_owned({run.fence for run in batch if run.id not in released}, self.using)
            for run in batch:
                self._runs.popleft()
                if run.fence in locked:
                    self._locked.put(run.fence, run, time.monotonic())
                else:
                    self._locked.forget(run.fence)
                    self._begun.discard(run.fence)
        return self._locked.rest(time.monotonic())

    def give_up_at(self, instant: float) -> None:
        """From this monotonic instant on, `finish` leaves runs whose rows others hold to recovery."""
        self._give_up_at = instant

    def finish(self) -> None:
        rest = self.tick()
        while self.backlog and time.monotonic() + rest < self._give_up_at:
            time.sleep(rest)
            rest = self.tick()
        if self.backlog:
            extra = {"event": "left_locked", "runs": self.backlog}
            logger.warning(
                "%d runs are not given back, as other transactions hold their rows", self.backlog, extra=extra
            )
