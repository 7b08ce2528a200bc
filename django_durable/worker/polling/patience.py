"""How long a worker lets a notice wait that all workers heard.

A random part of its patience, which doubles with each answer that led to nothing and ends with the first
that did not: in a fleet somebody is prompt, and the others ask a few times a second however many come.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from django_durable.worker.polling.cadence import SOON

LONGEST = 0.25  # seconds
PER_WORKER = 0.02  # seconds; the most prompt of a big fleet is as prompt as that of a small one
UTMOST = 1.0

Between = Callable[[float, float], float]


class Patience:
    """Instants are monotonic; `between` draws a number between two."""

    def __init__(self, between: Between = random.uniform) -> None:
        self.between = between
        self.length = 0.0
        self.longest = LONGEST
        self.ends_at = math.inf

    def among(self, workers: int) -> None:
        """So many hear each notice, this one too."""
        self.longest = min(max(LONGEST, workers * PER_WORKER), UTMOST)

    def begin(self, now: float) -> None:
        """A notice came; one that waits already stands for it: the least of many draws would be none."""
        if self.ends_at == math.inf:
            self.ends_at = now + self.between(0.0, self.length)

    def begin_at(self, instant: float) -> None:
        """Something will be there at an instant that all know; it stands for what waited before."""
        self.ends_at = instant + self.between(0.0, self.length)

    def answer(self, now: float) -> bool:
        """Answer the notice that waits, if its time has come; in vain, until something is found."""
        if now < self.ends_at:
            return False
        self.ends_at = math.inf
        self.length = min(max(2 * self.length, SOON), self.longest)
        return True

    def found(self) -> None:
        """An answer led to something."""
        self.length = 0.0
