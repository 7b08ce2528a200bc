"""What a worker has in hand, counted from before dispatch until the outcome is written, and what it did."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TypeVar

from django_durable.core.outcomes import Cancelled, Completed, Deferred, Failed, Outcome, Parked, Waiting
from django_durable.core.run import Run

Bucket = tuple[str, str | None]
T = TypeVar("T")
WORDS: dict[type, str] = {
    Completed: "succeeded",
    Failed: "failed",
    Cancelled: "cancelled",
    Parked: "parked",
    Deferred: "deferred",
    Waiting: "suspended",
}


class Tally:
    """Counts per queue, and per queue and partition; rather too much than too little."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self._queues: Counter[str] = Counter()
        self._partitions: Counter[Bucket] = Counter()
        self._lock = threading.Lock()

    def take(self, run: Run) -> None:
        with self._lock:
            self._queues[run.queue] += 1
            self._partitions[run.queue, run.partition_key] += 1
            self.done["claimed"] += 1

    def give_back(self, run: Run, what_became: str) -> None:
        with self._lock:
            _lower(self._queues, run.queue)
            _lower(self._partitions, (run.queue, run.partition_key))
            self.done[what_became] += 1

    def in_queue(self, queue: str) -> int:
        return self._queues[queue]

    def in_partition(self, queue: str, partition: str | None) -> int:
        return self._partitions[queue, partition]

    @property
    def total(self) -> int:
        return sum(self._queues.copy().values())


def word_for(outcome: Outcome, held: bool) -> str:
    """How the closing line counts an execution."""
    return WORDS[type(outcome)] if held else "superseded"


def _lower(counter: Counter[T], key: T) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
