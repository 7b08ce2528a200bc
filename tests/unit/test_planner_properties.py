"""The planner against the oracle in thousands of random worlds; the number in a failure is its seed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import Rooms
from django_durable.core.planning.line import Line
from django_durable.core.planning.planner import MAX_PASSES, Planner
from django_durable.core.planning.ranking import Ranking
from tests import oracle
from tests.unit.test_planner_world import Claim, Reader, World, random_world

WORLDS = 12_000
BLOCK = 600


def worlds(block: int) -> range:
    return range(block * BLOCK, (block + 1) * BLOCK)


@pytest.mark.parametrize("block", range(WORLDS // BLOCK))
def test_a_claim_takes_exactly_what_ranking_the_whole_line_takes(block):
    for seed in worlds(block):
        world = random_world(seed)
        assert Claim(world).take() == world.expected(), seed


@pytest.mark.parametrize("block", range(3))
def test_the_line_is_read_in_a_bounded_number_of_passes(block):
    for seed in worlds(block):
        world = random_world(seed)
        world.first_count = None
        claim = Claim(world)
        claim.take()
        assert claim.planner.passes <= MAX_PASSES, seed


@pytest.mark.parametrize("block", range(3))
def test_an_unsettled_plan_respects_every_room_as_well(block):
    for seed in worlds(block):
        world = random_world(seed)
        planner = Planner(world.rooms, fair=world.fair, busy=world.busy)
        reader = Reader(world)
        for size in world.windows[:-1]:
            planner.read(*reader.window(planner.cursor, planner.exclusions, size))
            assert not overrun(planner.plan, world.rooms), seed


def overrun(plan: list[Candidate], rooms: Rooms) -> list[str]:
    """Name the rooms that hold less than the plan."""
    used = [("slots", rooms.slots, len(plan)), ("queue", rooms.queue, len(plan))]
    keys = Counter(row.limit_key for row in plan)
    used += [(f"key {key}", rooms.keys.get(key), count) for key, count in keys.items() if key is not None]
    if rooms.partition is not None:
        for name, count in Counter(row.partition for row in plan).items():
            fleet, worker = rooms.partitions.get(name, rooms.partition)
            used += [(f"partition {name}", fleet, count), (f"partition {name} here", worker, count)]
    return [name for name, room, count in used if count and room is not None and count > room]


@pytest.mark.parametrize("block", range(3))
def test_turns_grow(block):
    for seed in worlds(block):
        world = random_world(seed)
        line = Line(world.rooms, world.busy, world.fair)
        line.add(world.rows)
        turns = Ranking(line, world.held).turns
        assert all(before < after for before, after in pairwise(turns)), seed


@pytest.mark.parametrize("block", range(3))
def test_an_unsettled_plan_is_one_that_some_next_row_would_change(block):
    for seed in worlds(block):
        world = random_world(seed)
        if world.rooms.partition is not None and world.rooms.partition.is_shut:
            continue  # whatever has no name has no room, which no exclusion can say: read on to no avail
        planner = Planner(world.rooms, fair=world.fair, busy=world.busy)
        size = random.Random(seed).randint(0, 9)
        read, ended, _ = Reader(world).window(planner.cursor, planner.exclusions, size)
        planner.read(read, ended)
        if not planner.settled:
            plan = [row.id for row in planner.plan]
            assert any(ranked(world, [*read, row]) != plan for row in newcomers(read)), seed


def newcomers(read: list[Candidate]) -> list[Candidate]:
    """Rows right behind those read, of groups that nobody has met."""
    rank, line = (read[-1].rank, read[-1].line + 1) if read else (0, 0)
    partitions = [None, *"abcdefgh", "new"]
    return [Candidate("newcomer", rank, line, partition, "new") for partition in partitions]


def ranked(world: World, rows: list[Candidate]) -> list[str]:
    return oracle.rank(rows, world.rooms, world.busy, world.fair)
