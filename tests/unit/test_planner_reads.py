"""How little is read: queues of some thousand rows, laid out to make a claim read on, and what suffices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import PartitionRoom, Rooms
from tests.unit.test_planner_world import Claim, World

ROWS = 3000
SLOTS = 20


def queue(
    key_of: Callable[[int], str | None],
    keys: dict[str, int] | None = None,
    busy: dict[str, int] | None = None,
    fair: bool = False,
    rank_of: Callable[[int], int] = lambda line: 0,
) -> World:
    rows = [Candidate(f"w{line}", rank_of(line), line, None, key_of(line)) for line in range(ROWS)]
    return read_as_usual(World(rows, Rooms(SLOTS, keys=keys or {}), busy or {}, fair))


def read_as_usual(world: World) -> World:
    """Windows each twice as large, and after the first two a directory in turn with them."""
    world.windows = [SLOTS * 4 << times for times in range(8)]
    world.directory_after = 2
    world.keys_counted_when_met = True
    return world


def blocked(key: str, rows: int) -> Callable[[int], str]:
    return lambda line: key if line < rows else f"free{line}"


def load(groups: int, of: Callable[[int], int]) -> dict[str, int]:
    return {f"k:k{number}": of(number) for number in range(groups)}


ONE_WINDOW, TWO_WINDOWS, FOUR_WINDOWS = 80, 240, 1200

LAYOUTS = {
    "no limits": (queue(lambda line: None), ONE_WINDOW),
    "600 keys, fair": (queue(lambda line: f"k{line % 600}", fair=True), ONE_WINDOW),
    "half of 400 groups busy, mixed": (
        queue(lambda line: f"k{line % 400}", busy=load(200, lambda number: 1), fair=True),
        TWO_WINDOWS,
    ),
    "urgent rows of many keys": (
        queue(lambda line: f"k{line % 600}", fair=True, rank_of=lambda line: -(line % 20 == 0)),
        ONE_WINDOW,
    ),
    "1 000 rows of one key at its limit": (queue(blocked("full", 1000), {"full": 0}), TWO_WINDOWS),
    "1 000 rows of one key at its limit, fair": (
        queue(blocked("full", 1000), {"full": 0}, fair=True),
        TWO_WINDOWS,
    ),
    "400 keys at their limit, then free": (
        queue(
            lambda line: f"k{line % 400}" if line < 1000 else f"free{line}",
            {f"k{number}": 0 for number in range(400)},
        ),
        FOUR_WINDOWS,
    ),
    "the whole queue one key at its limit": (queue(lambda line: "full", {"full": 0}), ONE_WINDOW),
    "the whole queue one key at its limit, fair": (
        queue(lambda line: "full", {"full": 0}, fair=True),
        ONE_WINDOW,
    ),
    "one deep group, fair": (queue(lambda line: None, busy={"": 7}, fair=True), ONE_WINDOW),
    "every group has one running": (
        queue(lambda line: f"k{line % 400}", busy=load(400, lambda number: 1), fair=True),
        ONE_WINDOW,
    ),
    "8 tenants": (
        queue(lambda line: f"k{line % 8}", busy=load(8, lambda number: number + 1), fair=True),
        ONE_WINDOW,
    ),
    "8 tenants, the least loaded at the end": (
        queue(lambda line: f"k{line * 8 // ROWS}", busy=load(8, lambda number: 9 - number), fair=True),
        TWO_WINDOWS + 4 * SLOTS,
    ),
}


@pytest.mark.parametrize(("world", "most"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_claim_reads_no_more_than_it_has_to(world, most):
    claim = Claim(replace(world, windows=[*world.windows]))
    assert claim.take() == world.expected()
    assert claim.reader.rows_read <= most


def test_partitions_that_are_busy_are_passed_over():
    rows = [Candidate(f"w{line}", 0, line, f"p{line % 300}") for line in range(ROWS)]
    busy: dict[str | None, PartitionRoom] = {f"p{number}": PartitionRoom(0) for number in range(0, 300, 2)}
    world = read_as_usual(World(rows, Rooms(SLOTS, partition=PartitionRoom(1), partitions=busy)))
    claim = Claim(world)
    assert claim.take() == world.expected()
    assert claim.reader.rows_read <= ONE_WINDOW
