"""Count what is in use of every limit that a claim meets, each key and partition once before the locks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django_durable.claim import full
from django_durable.core.planning.budget import (
    SEPARATOR,
    USED_UP,
    KeyRoom,
    QueueLimits,
    Usage,
    Use,
    limit_bucket,
    partition_bucket,
    partition_room,
    queue_bucket,
    rooms,
)
from django_durable.core.planning.limits import Rooms
from django_durable.core.planning.oldest import Oldest
from django_durable.models import WorkflowStatus, database

MANY_KEYS = 100  # met at once: it pays to learn first which of them are limited, where few are
NO_ROOM = KeyRoom(0, False)


def counted_from(queue: str, executor: UUID, oldest: Oldest) -> dict[str, Any]:
    """What a statement is asked with that counts the queue, from its oldest run in flight on."""
    return {"queue": queue, "executor": executor, "oldest": oldest.of(queue_bucket(queue))}


class Meter:
    """The counts of one claim; `read` adds what a window meets, `lock` repeats keys behind their locks."""

    def __init__(
        self,
        queue: str,
        limits: QueueLimits,
        slots: int,
        *,
        executor: UUID,
        using: str,
        oldest: Oldest,
        in_flight: Sequence[tuple[Any, ...]] | None = None,
    ) -> None:
        """`in_flight`: the answer of the statement that counts it here, if it was asked already."""
        self.queue = queue
        self.limits = limits
        self.slots = slots
        self.using = using
        self.executor = executor
        self.oldest = oldest
        self.runs = WorkflowStatus.objects.db_manager(using)
        self.usage = Usage()
        self._met: set[str] = set()
        self._knows_full_keys = False
        self._knows_full_partitions = False
        self._by_partition: dict[str | None, Use] | None = None  # all of them, where groups are counted
        self._count_queue(in_flight)

    @property
    def rooms(self) -> Rooms:
        return rooms(self.limits, self.usage, self.slots)

    @property
    def _counted(self) -> dict[str, Any]:
        return counted_from(self.queue, self.executor, self.oldest)

    def read(self, keys: Iterable[str | None], partitions: Iterable[str | None]) -> bool:
        """Count the keys and partitions not met before; whether there were any limited."""
        new = {key for key in keys if key is not None} - self._met
        counted = self.limits.any_keys and self._meet(new)
        return self._count_partitions(set(partitions)) or counted

    def lock(self, keys: Collection[str]) -> tuple[set[str], bool]:
        """Hold the limit rows of keys that no peer holds, and count those again behind the locks.

        Gives the keys held, and whether one of them has less room than was thought.
        """
        asked = [("lock_limits", {"keys": SEPARATOR.join(keys)}), ("limit_rooms", self._asked(keys))]
        locked, counted = database.fetch_all(asked, self.using)
        held = {key for (key,) in locked}
        before = {key: self.usage.keys.pop(key) for key in held}
        now = {key: room for key, room in self._rooms(counted).items() if key in held}
        self.usage.keys.update(now)
        return held, any(now[key].room < before[key].room for key in now)

    def learn_full(self) -> bool:
        """Before more is read: where many that were met are full, learn of all that are; whether it did."""
        learned = not self._knows_full_keys and self._met_many_full_keys and self._learn_full_keys()
        return self._learn_full_partitions() or learned

    @property
    def _met_many_full_keys(self) -> bool:
        return sum(self._is_full(key) for key in self._met) >= full.MANY

    def recount_groups(self) -> None:
        """Count what is in flight again: peers claimed rows that were in line, and load their groups."""
        self.usage.busy = {}
        self._count_queue()
        before = self.usage.partitions
        self.usage.partitions = {name: use for name, use in before.items() if use is USED_UP}
        self._count_partitions(set(before))

    def shut(self, keys: Iterable[str]) -> None:
        """Treat keys as without room: a peer holds their limit rows."""
        for key in keys:
            self.usage.keys[key] = NO_ROOM

    def _count_queue(self, in_flight: Sequence[tuple[Any, ...]] | None = None) -> None:
        fleet, here, starts = 0, 0, 0
        if self.limits.fair:
            rows = self.runs.in_flight(self._counted) if in_flight is None else in_flight
            fleet, here = self._count_groups(rows)
        elif self.limits.counts_in_flight:
            fleet, here, first = in_flight[0] if in_flight else self.runs.count_in_flight(self._counted)
            self.oldest.note(queue_bucket(self.queue), first)
        if self.limits.rate_limit is not None:
            starts = sum(self._starts([queue_bucket(self.queue)], self.limits.rate_period).values())
        self.usage.queue = Use(fleet, here, starts)

    def _count_groups(self, in_flight: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
        """Count by group and by partition, and in all."""
        self._by_partition = {}
        busy = self.usage.busy
        for partition, group, fleet, here, _ in in_flight:
            busy[group] = busy.get(group, 0) + fleet
            before = self._by_partition.get(partition, Use())
            self._by_partition[partition] = Use(before.fleet + fleet, before.here + here)
        first = min((row[-1] for row in in_flight), default=None)
        self.oldest.note(queue_bucket(self.queue), first)
        uses = self._by_partition.values()
        return sum(use.fleet for use in uses), sum(use.here for use in uses)

    def _meet(self, keys: set[str]) -> bool:
        learned = len(keys) > MANY_KEYS and self._learn_full_keys()
        self._met |= keys
        return self._count_keys(self._limited(keys - self.usage.keys.keys())) or learned

    def _is_full(self, key: str) -> bool:
        return key in self.usage.keys and self.usage.keys[key].room <= 0

    def _learn_full_keys(self) -> bool:
        """Once a claim."""
        if self._knows_full_keys:
            return False
        self._knows_full_keys = True
        keys = full.full_keys(self.oldest, self.using)
        self.usage.keys.update(dict.fromkeys(keys, NO_ROOM))
        return bool(keys)

    def _limited(self, keys: set[str]) -> set[str]:
        if len(keys) <= MANY_KEYS:
            return keys
        limited = database.fetch("limited_keys", {"most": MANY_KEYS}, self.using)
        return keys if len(limited) == MANY_KEYS else keys & {key for (key,) in limited}

    def _count_keys(self, keys: Collection[str]) -> bool:
        if not keys:
            return False
        found = self._rooms(database.fetch("limit_rooms", self._asked(keys), self.using))
        for key in keys:
            self.usage.keys.pop(key, None)
        self.usage.keys.update(found)
        return bool(found)

    def _asked(self, keys: Iterable[str]) -> dict[str, str]:
        """The keys, and where to begin to count each, joined as the statement takes them."""
        from_each = [str(self.oldest.of(limit_bucket(key))) for key in keys]
        return {"keys": SEPARATOR.join(keys), "oldest": SEPARATOR.join(from_each)}

    def _rooms(self, counted: Iterable[tuple[Any, ...]]) -> dict[str, KeyRoom]:
        """What the statement answered; where a limit counts starts alone, it did not look for runs."""
        found = {}
        for key, room, counts_starts, counts_runs, first in counted:
            found[key] = KeyRoom(room, counts_starts)
            if counts_runs:
                self.oldest.note(limit_bucket(key), first)
        return found

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

    def _learn_full_partitions(self) -> bool:
        """Once a claim; where groups are counted, all are known."""
        if self._knows_full_partitions or self._by_partition is not None or not self.limits.counts_in_flight:
            return False
        met = self.usage.partitions.values()
        if sum(partition_room(self.limits, use).is_shut for use in met) < full.MANY:
            return False
        self._knows_full_partitions = True
        names = full.full_partitions(self.limits, self._counted, self.using)
        self.usage.partitions.update(dict.fromkeys(names, USED_UP))
        return True

    def _in_flight_of(self, partitions: set[str | None]) -> dict[str | None, Use]:
        if self._by_partition is not None or not self.limits.counts_in_flight:
            return self._by_partition or {}
        counted = self.runs.partitions_in_flight(self._counted, partitions)
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
