"""One queue as its poller sees it: when to ask next, and what its last claim left behind."""

from __future__ import annotations

import logging

from django_durable.claim.claimer import Claims
from django_durable.core.planning.stops import StoppedBy
from django_durable.worker.polling.cadence import SOON, Cadence
from django_durable.worker.polling.queue_set import ServedQueue
from django_durable.worker.trouble import Trouble, sqlstate

TOGETHER = 0.2
WORKER_LIMIT = "the limit of a worker"

logger = logging.getLogger("django_durable.worker")


class Asked:
    """`due` is a monotonic instant. A hungry queue has more work for the next free slot.

    It needs no question for that; one for runs that woke is put from `overdue` on.
    """

    def __init__(self, queue: ServedQueue) -> None:
        self.queue = queue
        self.cadence = Cadence(queue.interval)
        self.trouble = Trouble(f"claiming from queue {queue.name!r}")
        self.due = self.overdue = self.asked_at = 0.0
        self.is_hungry = False
        self.is_limited = False
        self.keeps_time = False  # what it needs is free when it is due, and not before
        self.stopped_by: StoppedBy | None = None  # what the last claim was stopped by
        self._told = ""

    def follow(self, queue: ServedQueue) -> None:
        self.queue = queue
        self.cadence.own = queue.interval

    def is_asked(self, now: float, asks_all: bool, asks_busy: bool) -> bool:
        """Whether a question has to be put for it: to all, to those that may have got work, or it is due."""
        if self.is_hungry:
            return self.overdue <= now
        return asks_all or self.due <= now or (asks_busy and not self.is_limited)

    def goes_along(self, now: float, asks_all: bool, asks_busy: bool) -> bool:
        """Whether it is part of a question that is put anyway; then it may be a little early."""
        early = 0.0 if self.keeps_time else self.cadence.interval * TOGETHER
        return self.is_asked(now + early, asks_all, asks_busy)

    def waits_for_key(self, key: str) -> bool:
        """Whether rows of its last claim were left for the limit of this key."""
        return self.is_limited and self.stopped_by is not None and key in self.stopped_by.limit_keys

    def was_asked(self, now: float) -> None:
        """A question was put for it; the answer is told on its own."""
        self.asked_at = now
        self.overdue = now + self.cadence.interval

    def was_empty(self, now: float, jitter: float) -> None:
        """There was nothing to claim."""
        self.is_hungry = self.is_limited = self.keeps_time = False
        self.stopped_by = None
        self.cadence.went_well()
        self.due = now + self.cadence.interval * jitter

    def was_claimed(self, claims: Claims, slots: int, now: float, jitter: float) -> None:
        """A claim for so many slots came to its end."""
        self.was_empty(now, jitter)
        self.trouble.succeeded()
        self.is_hungry = len(claims.runs) >= slots
        self.stopped_by = None if self.is_hungry else _limits_met(claims)
        self.is_limited = self.stopped_by is not None or (claims.leaves_woken and not self.is_hungry)
        self.tell(self.stopped_by.in_words if self.stopped_by else "")

    def is_full_here(self, now: float, jitter: float) -> None:
        """This worker has as many of its runs as it may have."""
        self.was_empty(now, jitter)
        self.is_limited = True
        self.tell(WORKER_LIMIT)

    def tell(self, what: str) -> None:
        """Log what holds the queue back, where that is not what was logged last; empty: nothing."""
        if what == self._told:
            return
        self._told = what
        extra = {"event": "held_back", "queue": self.queue.name, "by": what}
        logger.debug("queue %r is held back by %s", self.queue.name, what or "nothing", extra=extra)

    def has_room_at(self, instant: float) -> None:
        """Of what stopped its last claim something is free again then."""
        if instant < self.due:
            self.due, self.keeps_time = instant, True

    def met_a_peer(self, now: float) -> None:
        """Another worker holds what a claim needs; it will not for long."""
        self.was_empty(now, 1.0)
        self.has_room_at(now + SOON)

    def failed(self, error: Exception, now: float, jitter: float) -> bool:
        """A claim was refused by the database; whether there may be work nevertheless."""
        match sqlstate(error):
            case "55P03":  # a lock that is not available
                self.met_a_peer(now)
            case "40001":  # a serialization failure
                self.met_conflict(now, jitter)
            case _:
                self.trouble.failed(error)
                self.was_empty(now, jitter)
                return False
        return True

    def met_conflict(self, now: float, jitter: float) -> None:
        self.was_empty(now, jitter)
        self.cadence.met_conflict()
        self.due = now + self.cadence.interval * jitter


def _limits_met(claims: Claims) -> StoppedBy | None:
    stopped = claims.stopped_by
    return None if stopped is None or stopped.line_ended else stopped
