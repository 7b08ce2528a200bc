"""A random queue in a world where rows are read in parts and some turn out held or gone only when locked.

`Claim` is the driver's loop without a database; the tests below are of this world itself. The properties
and the mutants are tested in it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from django_durable.core.planning.candidates import HEAD, Candidate, Place
from django_durable.core.planning.limits import PartitionRoom, Rooms
from django_durable.core.planning.planner import MAX_PASSES, Planner
from django_durable.core.planning.reading import Exclusions
from tests import oracle


@dataclass
class World:
    """One queue at one moment, and how its claim happens to read it."""

    rows: list[Candidate]
    rooms: Rooms
    busy: dict[str, int] = field(default_factory=dict)
    fair: bool = False
    held: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    windows: list[int] = field(default_factory=lambda: [80])  # sizes; the last one goes on
    directory_after: int | None = None  # windows read before the walk begins
    walk_step: int = 1000
    first_count: Rooms | None = None  # the rooms as counted before the locks
    keys_counted_when_met: bool = False
    stretch: int | None = None  # how many rows a window looks at, those left out among them; None: to the end

    def expected(self) -> list[str]:
        rows = [row for row in self.rows if row.id not in self.gone]
        return oracle.rank(rows, self.rooms, self.busy, self.fair, self.held)


class Reader:
    """Reads the world as the statements do: behind a place, in line order, leaving out what it is told to."""

    def __init__(self, world: World) -> None:
        self.line = sorted(world.rows, key=oracle.place)
        self.stretch = world.stretch
        self.rows_read = 0

    def window(self, after: Place, out: Exclusions, size: int) -> tuple[list[Candidate], bool, Place | None]:
        """Rows that were not left out of the next stretch of the line, if the line ended, and where not."""
        stretch = list(islice((row for row in self.line if row.place > after), self.stretch))
        keys, partitions, groups = (set(names) for names in out)
        rows, short = self._read(
            size,
            (
                row
                for row in stretch
                if row.limit_key not in keys and row.partition not in partitions and row.group not in groups
            ),
        )
        if short and len(stretch) == self.stretch:
            return rows, False, stretch[-1].place
        return rows, short, None

    def group(self, group: str, after: Place, keys: list[str], size: int) -> tuple[list[Candidate], bool]:
        rows = (row for row in self.line if row.group == group and row.place > after)
        return self._read(size, (row for row in rows if row.limit_key not in keys))

    def groups(self) -> list[tuple[str, Place]]:
        """Every group and its first row, in the order of a walk along the group index."""
        first: dict[str, Place] = {}
        for row in self.line:
            first.setdefault(row.group, row.place)
        return sorted(first.items())

    def _read(self, size: int, rows: Iterator[Candidate]) -> tuple[list[Candidate], bool]:
        found = list(islice(rows, size))
        self.rows_read += len(found)
        return found, len(found) < size


@dataclass
class Claim:
    """The driver's loop over one world, and what it came to."""

    world: World
    planner: Planner = field(init=False)
    reader: Reader = field(init=False)
    reads: int = 0
    walked: int = 0
    sought: int = 0
    rooms: Rooms = field(init=False)
    keys_met: set[str | None] = field(default_factory=set)
    locked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        world = self.world
        self.rooms = world.first_count or world.rooms
        self.planner = Planner(self._counted(), fair=world.fair, busy=world.busy)
        self.reader = Reader(world)

    def take(self, patience: int = 1000) -> list[str]:
        planner = self.planner
        while not planner.settled or self._lock():
            patience -= 1
            assert patience, "the claim does not come to an end"
            if not planner.settled:
                self._read()
        return [row.id for row in planner.plan]

    def met(self) -> set[str]:
        """Take, and name what happened on the way."""
        plan = set(self.take())
        happened = {
            "seek": self.sought,
            "new pass": self.planner.passes > 1,
            "last pass": self.planner.passes >= MAX_PASSES,
            "held": self.locked & self.world.held,
            "gone": self.locked & self.world.gone,
            "surplus": self.locked - self.world.held - self.world.gone - plan,
        }
        return {name for name, whether in happened.items() if whether}

    def _read(self) -> None:
        self.reads += 1
        if self.planner.next_groups:
            self._read_groups()
        elif self._is_time_to_walk():
            self._walk()
        else:
            self._read_window()

    def _is_time_to_walk(self) -> bool:
        """In turn with the windows, after the first few."""
        after = self.world.directory_after
        return after is not None and self.reads > after and self.reads % 2 == 1

    def _read_groups(self) -> None:
        keys, seeks = self.planner.exclusions.keys, self.planner.next_groups
        self.sought += len(seeks)
        for group, after, limit in seeks:
            rows, ended = self.reader.group(group, after, keys, limit)
            self._count(rows)
            self.planner.read_group(group, rows, ended)

    def _walk(self) -> None:
        groups = self.reader.groups()
        until = self.walked + self.world.walk_step
        self.planner.directory(dict(groups[self.walked : until]), complete=until >= len(groups))
        self.walked = until

    def _read_window(self) -> None:
        sizes = self.world.windows
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        rows, ended, reached = self.reader.window(self.planner.cursor, self.planner.exclusions, size)
        self._count(rows)
        self.planner.read(rows, ended, reached)

    def _count(self, rows: list[Candidate]) -> None:
        new = {row.limit_key for row in rows} - self.keys_met
        if self.world.keys_counted_when_met and new:
            self.keys_met |= new
            self.planner.recount(self._counted())

    def _counted(self) -> Rooms:
        if not self.world.keys_counted_when_met:
            return self.rooms
        keys = {key: room for key, room in self.rooms.keys.items() if key in self.keys_met}
        return replace(self.rooms, keys=keys)

    def _lock(self) -> bool:
        """Count again behind the locks of the limits, or lock what is planned; False if nothing was to do."""
        world, planner = self.world, self.planner
        if self.rooms is not world.rooms:
            self.rooms = world.rooms
            planner.recount(self._counted())
            return True
        ids = planner.to_lock
        self.locked.update(ids)
        planner.held(held := world.held.intersection(ids))
        planner.gone(gone := world.gone.intersection(ids))
        planner.taken(set(ids) - held - gone)
        return bool(ids)


def random_world(seed: int) -> World:
    """Make the queue of a seed; in a hundred of them every rule of the claim is at work somewhere."""
    rng = random.Random(seed)
    names = "abcdefgh"[: rng.choice([1, 2, 3, 5, 8])]
    rows = random_rows(rng, names)
    rooms = random_rooms(rng, names, slots=rng.randint(0, 8), partitioned=rng.random() < 0.5)
    return World(
        rows=rows,
        rooms=rooms,
        busy=random_busy(rng, names),
        fair=rng.random() < 0.65,
        held=random_ids(rng, rows),
        gone=random_ids(rng, rows),
        windows=[*(rng.randint(1, 8) for _ in range(rng.randint(1, 5))), rng.choice([1, 3, 10, 30])],
        directory_after=rng.choice([None, None, 0, 1, 3]),
        walk_step=rng.choice([1, 3, 100]),
        first_count=other_count(rng, names, rooms) if rng.random() < 0.3 else None,
        keys_counted_when_met=rng.random() < 0.5,
        stretch=rng.choice([None, 5, 20]),
    )


def random_rows(rng: random.Random, names: str) -> list[Candidate]:
    size = rng.choice([0, 3, 10, 25, 25, 40, 60])
    ranks = rng.choice([[0], [0], [0, 0, 0, 1], [-5, 0, 3]])
    with_partition, with_key = rng.choice([(0, 1), (0, 0.8), (1, 0), (0.7, 0), (1, 1), (0.7, 0.7)])
    in_blocks = rng.random() < 0.3
    rows = []
    for line in rng.sample(range(size * 3), size):
        near = names[line * len(names) // (size * 3)] if in_blocks else rng.choice(names)
        partition = near if rng.random() < with_partition else None
        key = (near if partition is None else rng.choice(names)) if rng.random() < with_key else None
        rows.append(Candidate(f"w{line}", rng.choice(ranks), line, partition, key))
    return rows


def random_rooms(rng: random.Random, names: str, slots: int, partitioned: bool) -> Rooms:
    keys = {key: rng.choice([-1, 0, 0, 1, 1, 2, 3, 5]) for key in names if rng.random() < 0.7}
    queue = rng.choice([None, None, None, rng.randint(-1, 8)])
    if not partitioned:
        return Rooms(slots, queue, keys)
    partitions: dict[str | None, PartitionRoom] = {
        name: random_partition_room(rng, lowest=-1) for name in [*names, None] if rng.random() < 0.5
    }
    return Rooms(slots, queue, keys, random_partition_room(rng, lowest=rng.choice([0, 1, 1, 1])), partitions)


def random_partition_room(rng: random.Random, lowest: int) -> PartitionRoom:
    fleet, worker = (rng.choice([None, rng.randint(lowest, 3), rng.randint(lowest, 3)]) for _ in range(2))
    return PartitionRoom(fleet, worker)


def other_count(rng: random.Random, names: str, rooms: Rooms) -> Rooms:
    """Count everything but this worker's own slots at another moment."""
    return random_rooms(rng, names, rooms.slots, rooms.partition is not None)


def random_busy(rng: random.Random, names: str) -> dict[str, int]:
    share, most = rng.choice([(0, 0), (0.5, 4), (1, 1), (1, 3)])
    groups = ["", *("k:" + name for name in names), *("p:" + name for name in names)]
    return {group: rng.randint(1, most) for group in groups if rng.random() < share}


def random_ids(rng: random.Random, rows: list[Candidate]) -> set[str]:
    share = rng.choice([0, 0, 0.1, 0.3])
    return {row.id for row in rows if rng.random() < share}


def test_a_window_leaves_out_what_it_is_told_to():
    rows = [
        Candidate("key", 0, 1, None, "a"),
        Candidate("partition", 0, 2, "a", "b"),
        Candidate("group", 0, 3, None, "c"),
        Candidate("left", 0, 4, "b", None),
    ]
    reader = Reader(World(rows, Rooms(1)))
    found, ended, reached = reader.window(HEAD, Exclusions(["a"], ["a"], ["k:c"]), 10)
    assert ([row.id for row in found], ended, reached) == (["left"], True, None)


def test_a_window_that_fills_up_does_not_say_that_the_line_ended():
    reader = Reader(World([Candidate("w1", 0, 1)], Rooms(1)))
    assert reader.window(HEAD, Exclusions([], [], []), 1) == ([Candidate("w1", 0, 1)], False, None)


def test_a_window_looks_no_further_than_its_stretch():
    rows = [Candidate(f"w{line}", 0, line, None, "a") for line in range(9)]
    reader = Reader(World(rows, Rooms(1), stretch=4))
    assert reader.window(HEAD, Exclusions(["a"], [], []), 3) == ([], False, (0, 3))


def test_every_rule_is_at_work_in_random_worlds():
    claims = [Claim(random_world(seed)) for seed in range(3000)]
    met = Counter(name for claim in claims for name in claim.met())
    assert min(met[name] for name in ("seek", "new pass", "last pass", "held", "gone", "surplus")) >= 3, met
