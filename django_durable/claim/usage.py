"""Count what is in use of every limit that a claim meets, each key and partition once before the locks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from django_durable.core.budget import (
    KeyRoom,
    QueueLimits,
    Usage,
    partition_bucket,
    queue_bucket,
    rooms,
)
from django_durable.core.limits import Rooms
from django_durable.models import WorkflowStatus, database


class Meter:
    """The counts of one claim; `read` adds what a window meets, `recount` repeats keys behind their locks."""

    def __init__(self, queue: str, limits: QueueLimits, slots: int, *, executor: UUID, using: str) -> None:
        self.queue = queue
        self.limits = limits
        self.slots = slots
        self.using = using
        self.usage = Usage()
        self._met: set[str] = set()
        if limits.counts_in_flight:
            self.usage.in_flight = WorkflowStatus.objects.db_manager(using).in_flight(queue, executor)
        if limits.rate_limit is not None:
            self.usage.queue_starts = sum(self._starts([queue_bucket(queue)], limits.rate_period).values())

    @property
    def rooms(self) -> Rooms:
        return rooms(self.limits, self.usage, self.slots)

    def read(self, keys: Iterable[str | None], partitions: Iterable[str | None]) -> bool:
        """Count the keys and partitions not met before; whether there were any limited."""
        new = {key for key in keys if key is not None} - self._met
        self._met |= new
        counted = bool(new) and self._count_keys(new)
        return self._count_partitions(set(partitions)) or counted

    def recount(self, keys: Iterable[str]) -> bool:
        """Count keys again in a new statement; whether one has less room than was thought."""
        before = dict(self.usage.keys)
        self._count_keys(keys)
        return any(self.usage.keys[key].room < before[key].room for key in keys if key in self.usage.keys)

    def shut(self, keys: Iterable[str]) -> None:
        """Treat keys as without room: a peer holds their limit rows."""
        for key in keys:
            self.usage.keys[key] = KeyRoom(0, False)

    def _count_keys(self, keys: Iterable[str]) -> bool:
        found = database.fetch("limit_rooms", {"keys": list(keys)}, self.using)
        for key in keys:
            self.usage.keys.pop(key, None)
        self.usage.keys.update({key: KeyRoom(room, counts) for key, room, counts in found})
        return bool(found)

    def _count_partitions(self, partitions: set[str | None]) -> bool:
        new = partitions - self.usage.partition_starts.keys()
        if self.limits.partition_rate_limit is None or not new:
            return False
        buckets = {partition_bucket(self.queue, partition): partition for partition in new}
        starts = self._starts(list(buckets), self.limits.partition_rate_period)
        self.usage.partition_starts.update({buckets[bucket]: count for bucket, count in starts.items()})
        return True

    def _starts(self, buckets: Sequence[str], period: object) -> dict[str, int]:
        rows = database.fetch("count_starts", {"buckets": list(buckets), "period": period}, self.using)
        return dict(rows)
