"""How much room the limits leave a claim: counted numbers, no policy and no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class PartitionRoom(NamedTuple):
    """What a partition may still start: in the whole fleet, and on this worker. None is no limit."""

    fleet: int | None = None
    worker: int | None = None

    @property
    def is_shut(self) -> bool:
        return _is_used_up(self.fleet) or _is_used_up(self.worker)


@dataclass(frozen=True, slots=True)
class Rooms:
    """Every room a claim has at its start; each is a limit less what is in use, and below 1 is none.

    `slots` is this worker's: the smaller of its free slots and what worker_concurrency still allows.
    `queue` is the fleet's: the smaller of its concurrency and rate rooms; None without such limits.
    `keys` holds the limit keys that have a `Limit` row; a key that is not there is unlimited.
    `partition` is None on a queue without partition limits, else the room of every partition
    (the null partition is one) that `partitions` does not name: one with nothing in use.
    """

    slots: int
    queue: int | None = None
    keys: Mapping[str, int] = field(default_factory=dict)
    partition: PartitionRoom | None = None
    partitions: Mapping[str | None, PartitionRoom] = field(default_factory=dict)

    def of_partition(self, partition: str | None) -> PartitionRoom:
        return self.partitions.get(partition, self.partition or _UNLIMITED)


def _is_used_up(room: int | None) -> bool:
    return room is not None and room <= 0


_UNLIMITED = PartitionRoom()
