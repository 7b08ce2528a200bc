"""Runs that this worker gives back, kept until the database has them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable

from django_durable.core.run import Run
from django_durable.maintenance.release import release
from django_durable.worker.service import Duty

BATCH = 500


class Returns(Duty):
    """Releases what it is handed; through an outage too."""

    name = "returns"

    def __init__(self, using: str) -> None:
        self.using = using
        self.wake: Callable[[], None] = lambda: None
        self.released = 0
        self._runs: deque[Run] = deque()

    def hand_over(self, runs: Iterable[Run]) -> None:
        self._runs.extend(runs)
        self.wake()

    @property
    def backlog(self) -> int:
        return len(self._runs)

    def tick(self) -> float:
        while self._runs:
            batch = [self._runs[position] for position in range(min(len(self._runs), BATCH))]
            self.released += len(release(batch, self.using))
            for _ in batch:
                self._runs.popleft()
        return math.inf

    def finish(self) -> None:
        self.tick()
