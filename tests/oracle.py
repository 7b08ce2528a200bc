"""What a claim has to take, read off the definition: slow, plain, the truth the planner is tested against."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import Rooms


def rank(
    rows: Collection[Candidate],
    rooms: Rooms,
    busy: Mapping[str, int],
    fair: bool,
    held: Collection[str] = (),
) -> list[str]:
    """List the ids a claim takes, in order. Rows that are gone are not among `rows`."""
    left = Left(rooms)
    waiting = list(rows)
    turns: list[Candidate] = []
    while ready := [row for row in waiting if left.admits(row)]:
        row = next_in_fair_order(ready, turns, busy) if fair else min(ready, key=place)
        waiting.remove(row)
        turns.append(row)
        left.spend(row, by_this_worker=row.id not in held)
    return [row.id for row in turns if row.id not in held]


def next_in_fair_order(ready: list[Candidate], turns: list[Candidate], busy: Mapping[str, int]) -> Candidate:
    highest = min(row.rank for row in ready)
    ready = [row for row in ready if row.rank == highest]

    def load(group: str) -> int:
        return busy.get(group, 0) + sum(1 for turn in turns if turn.rank == highest and turn.group == group)

    lowest = min(load(row.group) for row in ready)
    return min((row for row in ready if load(row.group) == lowest), key=place)


def place(row: Candidate) -> tuple[int, int]:
    return row.rank, row.line


class Left:
    """What is left of every room, in four dictionaries."""

    Of = dict[str | None, int | None]

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.slots = rooms.slots
        self.queue = rooms.queue
        self.keys: Left.Of = {}
        self.keys.update(rooms.keys)
        self.fleet = {name: room.fleet for name, room in rooms.partitions.items()}
        self.worker = {name: room.worker for name, room in rooms.partitions.items()}

    def admits(self, row: Candidate) -> bool:
        rooms = [self.slots, self.queue, self.keys.get(row.limit_key)]
        if self.rooms.partition is not None:
            rooms.append(self.fleet.setdefault(row.partition, self.rooms.partition.fleet))
            rooms.append(self.worker.setdefault(row.partition, self.rooms.partition.worker))
        return all(room is None or room > 0 for room in rooms)

    def spend(self, row: Candidate, by_this_worker: bool) -> None:
        if self.queue is not None:
            self.queue -= 1
        lower(self.keys, row.limit_key)
        lower(self.fleet, row.partition)
        if by_this_worker:
            self.slots -= 1
            lower(self.worker, row.partition)


def lower(rooms: Left.Of, name: str | None) -> None:
    room = rooms.get(name)
    rooms[name] = None if room is None else room - 1
