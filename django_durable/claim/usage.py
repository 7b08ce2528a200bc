"""Count what is in use of every limit that a claim meets, each key and partition once before the locks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django_durable.core.budget import (
    KeyRoom,
    QueueLimits,
    Usage,
    Use,
    partition_bucket,
    queue_bucket,
    rooms,
)
from django_durable.core.limits import Rooms
from django_durable.models import WorkflowStatus, database

MOSTLY_SHUT = 40  # limit keys met, and hardly one with room: it pays to ask for all that have none
LIMITS_AT_ONCE = 10_000


class Meter:
    """The counts of one claim; `read` adds what a window meets, `recount` repeats keys behind their locks."""

    def __init__(self, queue: str, limits: QueueLimits, slots: int, *, executor: UUID, using: str) -> None:
        self.queue = queue
        self.limits = limits
        self.slots = slots
        self.using = using
        self.executor = executor
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.usage = Usage()
        self._met: set[str] = set()
        self._by_partition: dict[str | None, Use] | None = None  # all of them, where groups are counted
        self._count_queue()

    @property
    def rooms(self) -> Rooms:
        return rooms(self.limits, self.usage, self.slots)

    def read(self, keys: Iterable[str | None], partitions: Iterable[str | None]) -> bool:
        """Count the keys and partitions not met before; whether there were any limited."""
        new = {key for key in keys if key is not None} - self._met
        self._met |= new
        counted = bool(new) and self._count_keys(new)
        return self._count_partitions(set(partitions)) or counted

    def recount(self, keys: Collection[str]) -> bool:
        """Count keys again in a new statement; whether one has less room than was thought."""
        before = dict(self.usage.keys)
        self._count_keys(keys)
        return any(self.usage.keys[key].room < before[key].room for key in keys if key in self.usage.keys)

    def recount_groups(self) -> None:
        """Count what is in flight again: peers claimed rows that were in line, and load their groups."""
        self.usage.busy = {}
        self._count_queue()
        met, self.usage.partitions = set(self.usage.partitions), {}
        self._count_partitions(met)

    def shut(self, keys: Iterable[str]) -> None:
        """Treat keys as without room: a peer holds their limit rows."""
        for key in keys:
            self.usage.keys[key] = KeyRoom(0, False)

    def _count_queue(self) -> None:
        fleet, here, starts = 0, 0, 0
        if self.limits.fair:
            fleet, here = self._count_groups()
        elif self.limits.counts_in_flight:
            fleet, here = self.runs.count_in_flight(self.queue, self.executor)
        if self.limits.rate_limit is not None:
            starts = sum(self._starts([queue_bucket(self.queue)], self.limits.rate_period).values())
        self.usage.queue = Use(fleet, here, starts)

    def _count_groups(self) -> tuple[int, int]:
        """Count by group and by partition, and in all."""
        self._by_partition = {}
        busy = self.usage.busy
        for partition, group, fleet, here in self.runs.in_flight(self.queue, self.executor):
            busy[group] = busy.get(group, 0) + fleet
            before = self._by_partition.get(partition, Use())
            self._by_partition[partition] = Use(before.fleet + fleet, before.here + here)
        uses = self._by_partition.values()
        return sum(use.fleet for use in uses), sum(use.here for use in uses)

    def _count_keys(self, keys: Collection[str]) -> bool:
        if not keys:
            return False
        found = database.fetch("limit_rooms", {"keys": list(keys)}, self.using)
        for key in keys:
            self.usage.keys.pop(key, None)
        self.usage.keys.update({key: KeyRoom(room, counts) for key, room, counts in found})
        return bool(found)

    def _count_partitions(self, partitions: set[str | None]) -> bool:
        new = partitions - self.usage.partitions.keys()
        if not self.limits.limits_partitions or not new:
            return False
        in_flight = self._in_flight_of(new)
        starts = self._starts_of(new)
        for partition in new:
            fleet, here, _ = in_flight.get(partition, Use())
            self.usage.partitions[partition] = Use(fleet, here, starts.get(partition, 0))
        return True

    def _in_flight_of(self, partitions: set[str | None]) -> dict[str | None, Use]:
        if self._by_partition is not None or not self.limits.counts_in_flight:
            return self._by_partition or {}
        counted = self.runs.partitions_in_flight(self.queue, self.executor, partitions)
        return {partition: Use(fleet, here) for partition, fleet, here in counted}

    def _starts_of(self, partitions: set[str | None]) -> dict[str | None, int]:
        if self.limits.partition_rate_limit is None:
            return {}
        buckets = {partition_bucket(self.queue, partition): partition for partition in partitions}
        starts = self._starts(list(buckets), self.limits.partition_rate_period)
        return {buckets[bucket]: count for bucket, count in starts.items()}

    def _starts(self, buckets: Sequence[str], period: object) -> dict[str, int]:
        rows = database.fetch("count_starts", {"buckets": list(buckets), "period": period}, self.using)
        return dict(rows)
