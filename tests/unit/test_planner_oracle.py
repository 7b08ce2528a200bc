"""The oracle itself: hand-made queues, and the closed formula that holds where a row has one key."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import PartitionRoom, Rooms
from tests import oracle


def line(*rows: tuple[str, int]) -> list[Candidate]:
    """Rows in line order, each named by its limit key and standing at a rank."""
    return [Candidate(f"{key}{at}", rank, at, None, key) for at, (key, rank) in enumerate(rows)]


def test_default_order_goes_down_the_line_and_passes_over_rows_without_room():
    rows = line(("a", 0), ("a", 0), ("b", 0), ("c", 0))
    assert oracle.rank(rows, Rooms(3, keys={"a": 1}), {}, fair=False) == ["a0", "b2", "c3"]


def test_a_higher_priority_goes_before_the_fairest_turn():
    rows = line(("a", 0), ("b", -1), ("b", -1))
    assert oracle.rank(rows, Rooms(2), {"k:b": 9}, fair=True) == ["b1", "b2"]


def test_fair_order_takes_from_the_least_loaded_group_first():
    rows = line(("a", 0), ("a", 0), ("b", 0), ("c", 0))
    assert oracle.rank(rows, Rooms(3), {"k:c": 1}, fair=True) == ["a0", "b2", "a1"]


def test_a_turn_at_one_priority_is_no_load_at_another():
    rows = line(("a", -1), ("a", 0), ("b", 0))
    assert oracle.rank(rows, Rooms(2), {}, fair=True) == ["a0", "a1"]


def test_a_partition_and_a_limit_key_of_one_name_are_two_groups():
    rows = [Candidate("p", 0, 1, "a", None), Candidate("k", 0, 2, None, "a")]
    assert oracle.rank(rows, Rooms(1), {"p:a": 1}, fair=True) == ["k"]


def test_a_held_row_uses_the_rooms_of_the_fleet_and_not_those_of_the_worker():
    rows = [Candidate(f"w{at}", 0, at, "p") for at in range(4)]
    rooms = Rooms(2, queue=3, partition=PartitionRoom(fleet=3, worker=2))
    assert oracle.rank(rows, rooms, {}, fair=False, held={"w0"}) == ["w1", "w2"]


def test_rows_without_a_partition_share_the_room_of_one():
    rows = [Candidate("w0", 0, 0), Candidate("w1", 0, 1, None, "k"), Candidate("w2", 0, 2, "p")]
    assert oracle.rank(rows, Rooms(3, partition=PartitionRoom(1)), {}, fair=False) == ["w0", "w2"]


def by_formula(rows: list[Candidate], rooms: Rooms, busy: dict[str, int], fair: bool) -> list[str]:
    """Rank without a loop over turns: a key takes its first rows, a turn is load + place in the group."""
    rows = sorted(rows, key=oracle.place)
    seen: Counter[str | None] = Counter()
    places: Counter[tuple[int, str]] = Counter()
    ranked = []
    for row in rows:
        seen[row.limit_key] += 1
        if row.limit_key is not None and seen[row.limit_key] > rooms.keys.get(row.limit_key, len(rows)):
            continue
        places[row.rank, row.group] += 1
        turn = busy.get(row.group, 0) + places[row.rank, row.group] if fair else 0
        ranked.append((row.rank, turn, row.line, row.id))
    return [id for *_, id in sorted(ranked)[: max(rooms.slots, 0)]]


@pytest.mark.parametrize("fair", [False, True])
def test_the_oracle_agrees_with_the_closed_formula_where_a_row_has_one_key(fair):
    for seed in range(500):
        rng = random.Random(seed)
        keys = [None, *"abcde"[: rng.randint(1, 5)]]
        rows = [
            Candidate(f"w{at}", rng.choice([0, 0, 1]), at, None, rng.choice(keys))
            for at in rng.sample(range(90), rng.randint(0, 30))
        ]
        busy = {"" if key is None else f"k:{key}": rng.randint(0, 3) for key in keys}
        limits = {key: rng.randint(-1, 4) for key in keys if key is not None and rng.random() < 0.6}
        rooms = Rooms(rng.randint(0, 9), keys=limits)
        assert oracle.rank(rows, rooms, busy, fair) == by_formula(rows, rooms, busy, fair), seed
