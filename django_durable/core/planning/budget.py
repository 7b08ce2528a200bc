"""From a queue's limits and what is in use of them to the rooms of one claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from django_durable.core.planning.ledger import NEVER
from django_durable.core.planning.limits import PartitionRoom, Rooms

SEPARATOR = "\x1f"  # refused in identifiers, so joined names cannot be mistaken for each other


class QueueLimits(NamedTuple):
    """What a queue's row says; None is no limit."""

    concurrency: int | None = None
    worker_concurrency: int | None = None
    rate_limit: int | None = None
    rate_period: timedelta | None = None
    partition_concurrency: int | None = None
    partition_worker_concurrency: int | None = None
    partition_rate_limit: int | None = None
    partition_rate_period: timedelta | None = None
    fair: bool = False
    paused: bool = False
    any_keys: bool = True  # whether there is a limit of any key at all, over all queues

    @property
    def has_fleet_budget(self) -> bool:
        """Whether a limit of the queue's own must be counted over all workers, behind a lock on its row."""
        fleet = (self.concurrency, self.rate_limit, self.partition_concurrency, self.partition_rate_limit)
        return any(limit is not None for limit in fleet)

    @property
    def limits_partitions(self) -> bool:
        partition = (self.partition_concurrency, self.partition_worker_concurrency, self.partition_rate_limit)
        return any(limit is not None for limit in partition)

    @property
    def is_plain(self) -> bool:
        """Whether nothing of the queue's own reorders or holds back its line."""
        return not (self.fair or self.has_fleet_budget or self.limits_partitions or self.worker_concurrency)

    @property
    def counts_in_flight(self) -> bool:
        return self.fair or any(
            limit is not None
            for limit in (
                self.concurrency,
                self.worker_concurrency,
                self.partition_concurrency,
                self.partition_worker_concurrency,
            )
        )

    @property
    def counts(self) -> bool:
        """Whether a claim counts what is in flight: of the queue, or of a key that it may meet."""
        return self.counts_in_flight or self.any_keys

    def opens_like(self, other: QueueLimits) -> bool:
        """Whether a claim begins the same way under both: with the same lock and the same counts."""
        mine, its = (
            (limits.has_fleet_budget, limits.fair, limits.counts_in_flight) for limits in (self, other)
        )
        return mine == its


class InFlight(NamedTuple):
    """Runs in flight of one partition and group of a queue: in the fleet, and of these in this worker.

    `first` is the lowest number of their claims.
    """

    partition: str | None
    group: str
    fleet: int
    here: int
    first: int


class KeyRoom(NamedTuple):
    """What the limit of one key still allows, and whether its starts are counted."""

    room: int
    counts_starts: bool


class Use(NamedTuple):
    """What is in use of a queue or a partition: runs in flight, those of this worker, recent starts."""

    fleet: int = 0
    here: int = 0
    starts: int = 0


NOTHING = Use()
USED_UP = Use(NEVER, NEVER)  # of whatever limit
SHUT = PartitionRoom(0, 0)


@dataclass(slots=True)
class Usage:
    """What is in use when a claim is planned; starts are those within the sliding window.

    `partitions` and `keys` hold those that the claim has met; `busy` counts runs in flight by group.
    """

    queue: Use = NOTHING
    busy: dict[str, int] = field(default_factory=dict)
    partitions: dict[str | None, Use] = field(default_factory=dict)
    keys: dict[str, KeyRoom] = field(default_factory=dict)


def rooms(limits: QueueLimits, usage: Usage, slots: int) -> Rooms:
    fleet, here, starts = usage.queue
    return Rooms(
        slots=_least(slots, _room(limits.worker_concurrency, here)) or 0,
        queue=_least(_room(limits.concurrency, fleet), _room(limits.rate_limit, starts)),
        keys={key: counted.room for key, counted in usage.keys.items()},
        partition=partition_room(limits, NOTHING) if limits.limits_partitions else None,
        partitions={
            name: SHUT if use is USED_UP else partition_room(limits, use)
            for name, use in usage.partitions.items()
        },
    )


def partition_room(limits: QueueLimits, use: Use) -> PartitionRoom:
    """What one partition may still start."""
    return PartitionRoom(
        fleet=_least(
            _room(limits.partition_concurrency, use.fleet), _room(limits.partition_rate_limit, use.starts)
        ),
        worker=_room(limits.partition_worker_concurrency, use.here),
    )


def _room(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(limit - used, 0)


def _least(*rooms: int | None) -> int | None:
    return min((room for room in rooms if room is not None), default=None)


def queue_bucket(queue: str) -> str:
    """The name under which the starts of a queue's rate are counted."""
    return SEPARATOR.join(("queue", queue))


def partition_bucket(queue: str, partition: str | None) -> str:
    return SEPARATOR.join(("partition", queue, partition or ""))


def limit_bucket(key: str) -> str:
    return SEPARATOR.join(("limit", key))


def limited_keys(buckets: Iterable[str]) -> list[str]:
    """The limit keys of those buckets that are named after one."""
    start = limit_bucket("")
    return [bucket.removeprefix(start) for bucket in buckets if bucket.startswith(start)]


def start_buckets(
    queue: str, limits: QueueLimits, usage: Usage, started: Iterable[tuple[str | None, str | None]]
) -> list[str]:
    """The buckets that starts of (partition, limit key) are counted in."""
    buckets = []
    for partition, key in started:
        if limits.rate_limit is not None:
            buckets.append(queue_bucket(queue))
        if limits.partition_rate_limit is not None:
            buckets.append(partition_bucket(queue, partition))
        if key is not None and key in usage.keys and usage.keys[key].counts_starts:
            buckets.append(limit_bucket(key))
    return buckets
