"""When a poller asks out of turn: at a notice, once more after one in vain, and quickly while work is found.

A notice may stand for more than one enqueue, as an enqueuer sends only so many: the question after one in
vain is for those.
"""

from __future__ import annotations

import math
import random

from django_durable.worker.polling.cadence import SOON
from django_durable.worker.polling.patience import Between, Patience

HOT = 0.25  # seconds of quick questions after a find
FEW = 5  # workers, each of which may ask every 20 ms while it finds work
LONGER = 3  # patiences that the question after one in vain may come later


class Heat:
    """Instants are monotonic; `between` draws a number between two."""

    def __init__(self, between: Between = random.uniform) -> None:
        self.patience = Patience(between)
        self._again_at = math.inf
        self._hot_until = self._next_hot = 0.0
        self._quickly = SOON

    def among(self, workers: int) -> None:
        """So many ask, this one too: those that are hot ask no more often together than a few do."""
        self.patience.among(workers)
        self._quickly = SOON * max(1.0, workers / FEW)

    def noticed(self, now: float) -> None:
        """Something may be ready."""
        self.patience.begin(now)

    def answers(self, now: float) -> bool:
        """Whether a notice is answered now, and asked for once more if that was in vain."""
        latest = HOT + LONGER * self.patience.length
        if not self.patience.answer(now):
            return False
        self._next_hot = now + self._quickly
        self._again_at = now + self.patience.between(SOON, latest)
        return True

    def asks_again(self, now: float) -> bool:
        """Whether it is time for one of the questions that follow a find, or an answer in vain."""
        if now >= self._again_at:
            self._again_at = math.inf
        elif now >= self._hot_until or now < self._next_hot:
            return False
        self._next_hot = now + self._quickly
        return True

    def found(self, now: float) -> None:
        """There was something, and it was claimed."""
        self.patience.found()
        self._again_at = math.inf
        self._hot_until = now + HOT

    def next_at(self, now: float) -> float:
        """When it asks next, if nothing happens until then."""
        next_at = min(self.patience.ends_at, self._again_at)
        return min(next_at, self._next_hot) if now < self._hot_until else next_at
