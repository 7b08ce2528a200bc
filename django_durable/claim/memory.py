"""What one claimer remembers of its queues from question to claim, and from claim to claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django_durable.core.planning.budget import QueueLimits
from django_durable.models import database


class Memory:
    """Hints, no more: each claim reads anew, in its own transaction, whatever its safety rests on."""

    def __init__(self, using: str) -> None:
        self.using = using
        self.limits: dict[str, QueueLimits] = {}
        self.yielded: set[str] = set()  # queues left to peers by the last claim
        self.keyed: set[str] = set()  # queues whose last claim met limited keys
        self.woken: set[str] | None = None  # None: nobody looked for woken runs, so each claim tries
        self.wakes: dict[str, float] = {}  # seconds until the next run of a queue wakes, from the last look

    def of(self, queue: str) -> QueueLimits | None:
        """The limits as they were last known, else as they are; None: there is no such queue."""
        return self.limits.get(queue) or self._read(queue)

    def counts(self, queue: str) -> bool:
        """Whether a claim of the queue counts what is in flight, as far as is known."""
        return queue in self.limits and self.limits[queue].counts

    def is_paused(self, queue: str) -> bool:
        return queue in self.limits and self.limits[queue].paused

    def note_claim(self, queue: str, *, yields: bool, keyed: bool) -> None:
        (self.yielded.add if yields else self.yielded.discard)(queue)
        (self.keyed.add if keyed else self.keyed.discard)(queue)

    def may_have_woken(self, queue: str) -> bool:
        return self.woken is None or queue in self.woken

    def forget_woken(self, queue: str) -> None:
        if self.woken is not None:
            self.woken.discard(queue)

    def note_wakes(self, queues: Sequence[str], wakes: Mapping[str, tuple[float, float | None]]) -> set[str]:
        """Returns the queues that have a woken run which is due."""
        due = {queue for queue, (seconds, _) in wakes.items() if seconds <= 0}
        to_come = {queue: later if queue in due else seconds for queue, (seconds, later) in wakes.items()}
        self.wakes = {queue: seconds for queue, seconds in to_come.items() if seconds is not None}
        self.woken = (self.woken or set()).difference(queues) | due
        return due

    def _read(self, queue: str) -> QueueLimits | None:
        rows = database.fetch("read_queue", {"queue": queue}, self.using)
        if not rows:
            return None
        self.limits[queue] = limits = QueueLimits(*rows[0])
        return limits
