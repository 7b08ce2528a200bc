"""Which queues this worker serves: read from their table again and again, so that a change holds at once."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from django_durable.models import Queue
from django_durable.worker.service import Duty

INTERVAL = 1.0
COLUMNS = ("name", "paused_at", "polling_interval", "worker_concurrency")

logger = logging.getLogger("django_durable.worker")


class ServedQueue(NamedTuple):
    """What a poller needs to know of a queue; the interval is seconds."""

    name: str
    interval: float
    worker_concurrency: int | None


class QueueSet(Duty):
    """The queues to ask, without the paused. A failed read keeps the last set: an empty one stopped all."""

    name = "queue set"

    def __init__(
        self,
        using: str,
        interval: float,
        only: Collection[str] = (),
        exclude: Collection[str] = (),
        *,
        lease: float = math.inf,
    ) -> None:
        self.using = using
        self.interval = interval
        self.only = tuple(only)
        self.exclude = frozenset(exclude)
        self.lease = lease
        self.on_change: Callable[[], None] = lambda: None
        self.queues: dict[str, ServedQueue] = {}
        self.is_read = False
        self._missing: set[str] = set()
        self._seldom: set[str] = set()

    def tick(self) -> float:
        rows = Queue.objects.using(self.using).only(*COLUMNS)
        found = {row.name: row for row in rows if self._is_served(row.name)}
        self._tell_missing(found)
        self._tell_seldom(found.values())
        queues = {
            name: ServedQueue(name, row.polling_interval or self.interval, row.worker_concurrency)
            for name, row in found.items()
            if row.paused_at is None
        }
        self.is_read = True
        if queues != self.queues:
            self.queues = queues
            self.on_change()
        return INTERVAL

    def _is_served(self, name: str) -> bool:
        return name not in self.exclude and (not self.only or name in self.only)

    def _tell_missing(self, found: Collection[str]) -> None:
        missing = set(self.only) - set(found) - self.exclude
        for name in sorted(missing - self._missing):
            extra = {"event": "no_such_queue", "queue": name}
            logger.warning("queue %r does not exist; it is served as soon as it does", name, extra=extra)
        self._missing = missing

    def _tell_seldom(self, rows: Iterable[Queue]) -> None:
        seldom = {row.name: row.polling_interval for row in rows if (row.polling_interval or 0) >= self.lease}
        for name in sorted(seldom.keys() - self._seldom):
            message = (
                "the polling interval of queue %r (%g s) is not below DURABLE['LEASE'] (%g s): "
                "a run given back or taken over waits longer than it took to notice"
            )
            extra = {"event": "seldom", "queue": name}
            logger.warning(message, name, seldom[name], self.lease, extra=extra)
        self._seldom = set(seldom)
