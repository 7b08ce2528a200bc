"""The rooms of a claim as its ranking spends them, turn by turn."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from django_durable.core.planning.candidates import LIMIT_KEY, limit_key_of, partition_of
from django_durable.core.planning.limits import Rooms

# A turn no ranking reaches, and a room no ranking fills.
NEVER = sys.maxsize


class Shut(NamedTuple):
    """The keys and partitions without any room at the start: their rows cannot be ranked at all."""

    keys: Mapping[str, int]
    partitions: Mapping[str | None, int]
    unnamed: bool

    @classmethod
    def in_(cls, rooms: Rooms) -> Shut:
        keys = {key: 0 for key, room in rooms.keys.items() if room <= 0}
        if rooms.partition is None:
            return cls(keys, _NOTHING, False)
        named = {partition: 0 for partition, room in rooms.partitions.items() if room.is_shut}
        return cls(keys, named, rooms.partition.is_shut)

    def holds_all(self, rooms: Rooms) -> bool:
        return self.unnamed and len(self.partitions) == len(rooms.partitions)

    def holds(self, rooms: Rooms, partition: str | None, key: str | None) -> bool:
        if key in self.keys or partition in self.partitions:
            return True
        return self.unnamed and partition not in rooms.partitions


class Ledger:
    """Rooms as they fill, turn by turn.

    `closed` and the `closed_…` mappings keep the turn from which on a bucket had no room: 0 is from the
    start, absent (or NEVER) is not yet. The `filled_…` lists name those that had some.
    """

    __slots__ = (
        "_keys",
        "_left",
        "_rooms",
        "_shut",
        "closed",
        "closed_keys",
        "closed_partitions",
        "filled_keys",
        "filled_partitions",
        "is_partitioned",
        "queue",
        "slots",
        "turn",
    )

    def __init__(self, rooms: Rooms, shut: Shut) -> None:
        self._rooms = rooms
        self._shut = shut
        self.slots = rooms.slots
        self.queue = NEVER if rooms.queue is None else rooms.queue
        self._keys = dict(rooms.keys)
        self._left: dict[str | None, list[int]] = {}
        self.is_partitioned = rooms.partition is not None
        self.turn = 0
        is_full = self.slots <= 0 or self.queue <= 0 or shut.holds_all(rooms)
        self.closed = 0 if is_full else NEVER
        self.closed_keys: dict[Any, int] = dict(shut.keys)
        self.closed_partitions: dict[str | None, int] = dict(shut.partitions)
        self.filled_keys: list[str] = []
        self.filled_partitions: list[str | None] = []

    def closing(self, partition: str | None, key: str | None) -> int:
        """Tell the turn from which on a row of this partition and key had no room somewhere."""
        first = min(self.closed, self.closed_keys.get(key, NEVER))
        return min(first, self.partition_closing(partition)) if self.is_partitioned else first

    def closing_of(self, group: str) -> int:
        """The same of what all rows of a group share; asked for every group there is."""
        if group[:2] == LIMIT_KEY and not self.is_partitioned:
            closes = self.closed_keys.get(group[2:], NEVER)
            return closes if closes < self.closed else self.closed
        return self.closing(partition_of(group), limit_key_of(group))

    def key_closing(self, key: str) -> int:
        return min(self.closed, self.closed_keys.get(key, NEVER))

    def partition_closing(self, partition: str | None) -> int:
        if self._shut.unnamed and partition not in self._rooms.partitions:
            return 0
        return self.closed_partitions.get(partition, NEVER)

    def is_closed_to(self, partition: str | None) -> bool:
        return self.is_partitioned and self.partition_closing(partition) != NEVER

    def spend(self, partition: str | None, key: str | None, held: bool) -> None:
        """Give one turn. A held row uses the fleet's rooms only: its holder runs it elsewhere."""
        self.turn += 1
        self.queue -= 1
        if not held:
            self.slots -= 1
        if key in self._keys:
            self._spend_key(key)
        if self.is_partitioned:
            self._spend_partition(partition, held)
        if self.slots <= 0 or self.queue <= 0:
            self.closed = self.turn

    def _spend_key(self, key: str) -> None:
        self._keys[key] = left = self._keys[key] - 1
        if left <= 0:
            self.closed_keys[key] = self.turn
            self.filled_keys.append(key)

    def _spend_partition(self, partition: str | None, held: bool) -> None:
        left = self._left.get(partition)
        if left is None:
            left = self._left[partition] = [_number(n) for n in self._rooms.of_partition(partition)]
        left[0] -= 1
        if not held:
            left[1] -= 1
        if left[0] <= 0 or left[1] <= 0:
            self.closed_partitions[partition] = self.turn
            self.filled_partitions.append(partition)


def _number(room: int | None) -> int:
    return NEVER if room is None else room


_NOTHING: Mapping[Any, int] = MappingProxyType({})
