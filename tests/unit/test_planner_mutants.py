"""Every rule of the planner, broken on purpose: the random worlds must notice each.

Not here is what only changes how much is read: leaving out too little, or too much as long as it is asked
about again before the plan is settled; seeking too shallow; settling too late.
"""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from django_durable.core.planning import line, reading, settling
from django_durable.core.planning.candidates import END
from django_durable.core.planning.ledger import Ledger
from django_durable.core.planning.limits import PartitionRoom, Rooms
from django_durable.core.planning.line import Line
from django_durable.core.planning.planner import Planner
from django_durable.core.planning.ranking import Ranking
from django_durable.core.planning.reading import Exclusions, Reading
from tests.unit.test_planner_world import Claim, random_world

WORLDS = 6000
MUTANTS: list[ParameterSet] = []


def breaks(owner, name):
    """Let the function stand in for the one of that name; it is given the original first."""

    def register(mutant):
        original = getattr(owner, name)

        def stand_in(*args, **named):
            return mutant(original, *args, **named)

        MUTANTS.append(pytest.param(owner, name, stand_in, id=mutant.__name__))
        return mutant

    return register


# When a plan is settled


@breaks(settling, "any_may_win")
def settled_as_soon_as_full(_, ranking, behind):
    return behind != END and not ranking.is_full


@breaks(settling, "any_may_win")
def settled_at_two_turns(_, ranking, behind):
    """T <= 2 in place of T <= 1: a group nobody has met is taken to have a row in flight."""
    return behind != END and ranking.turn_at(1, behind) < ranking.ledger.closed


@breaks(settling, "any_may_win")
def settled_though_there_is_room_left(_, ranking, behind):
    return behind != END and ranking.turn_at(0, behind) < len(ranking.turns)


@breaks(settling, "failing")
def settled_without_asking_again_about_what_was_left_out(*_):
    return Exclusions([], [], [])


@breaks(Planner, "directory")
def a_part_of_the_directory_is_taken_for_all_of_it(original, planner, places, complete):
    original(planner, places, True)


# What can be left out


@breaks(settling, "key_may_win")
def a_key_used_up_is_left_out_in_fair_order_too(_, ranking, key, behind):
    return behind != END and key not in ranking.ledger.closed_keys


@breaks(settling, "partition_may_win")
def a_partition_used_up_is_left_out_whatever_its_load(_, ranking, partition, behind):
    return behind != END and not ranking.ledger.is_closed_to(partition)


@breaks(settling, "partition_may_win")
def the_null_partition_is_taken_for_one_group(_, ranking, partition, behind):
    group = "" if partition is None else f"p:{partition}"
    return settling.group_may_win(ranking, group, behind)


@breaks(Ranking, "load")
def a_group_is_left_out_one_turn_too_early(original, ranking, group, place):
    return original(ranking, group, place) + ranking._line.is_fair


@breaks(Ranking, "load")
def turns_at_other_ranks_are_load(_, ranking, group, place):
    turns = ranking.groups.get(group, ())
    return ranking.busy.get(group, 0) + sum(1 for row in turns if row.place < place)


@breaks(Ranking, "turn_at")
def an_unread_row_is_taken_to_stand_behind_all_read(original, ranking, load, place):
    return original(ranking, load, (place[0], END[1] + (1 << 40)))


# How reading goes on


@breaks(Reading, "_pull_back_windows")
def what_is_lifted_is_not_read_again(*_):
    pass


@breaks(Reading, "_pull_back_groups")
def a_key_lifted_is_not_read_again_in_its_groups(*_):
    pass


@breaks(reading, "_pull_back")
def what_stays_left_out_keeps_its_place_when_reading_starts_again(*_):
    pass


@breaks(Reading, "leave_out")
def what_is_left_out_already_moves_on_with_the_cursor(_, reading, names):
    for left_out, new in zip(reading.left_out.by_kind, names.by_kind, strict=True):
        left_out.update(dict.fromkeys(new, reading.cursor))


@breaks(Line, "_is_touched")
def a_new_count_lets_no_row_in_that_had_no_room(*_):
    return False


@breaks(Reading, "recount")
def what_had_no_room_at_first_is_out_for_good(original, reading, shut):
    if not reading.shut.keys and not reading.shut.partitions:
        original(reading, shut)


@breaks(Reading, "advance_group")
def a_group_is_taken_to_have_ended_with_the_first_rows_read(original, reading, group, rows, ended):
    original(reading, group, rows, True)


@breaks(Reading, "_starts")
def a_directory_makes_known_what_was_left_out(_, reading):
    return {group: max(reading.cursor, (place[0], place[1] - 1)) for group, place in reading._places.items()}


# What rows use


@breaks(Line, "__init__")
def rows_in_flight_are_no_load(original, line, rooms, busy, is_fair):
    original(line, rooms, {}, is_fair)


@breaks(line, "group_of")
def a_partition_and_a_limit_key_of_one_name_are_one_group(_, partition, key):
    return f"p:{partition or key}"


@breaks(Line, "ranks")
def a_lower_priority_goes_first(original, line):
    return original(line)[::-1]


@breaks(Line, "remove")
def a_gone_row_comes_back_by_the_next_read(original, line, ids):
    original(line, ids)
    for id in ids:
        line.rows.pop(id, None)


@breaks(Planner, "gone")
def a_gone_row_keeps_its_place(_, planner, ids):
    planner.held(ids)


@breaks(Planner, "held")
def a_held_row_loses_its_place(_, planner, ids):
    planner.gone(ids)


@breaks(Ledger, "spend")
def a_held_row_uses_no_room(original, ledger, partition, key, held):
    if held:
        ledger.turn += 1
    else:
        original(ledger, partition, key, held)


@breaks(Ledger, "spend")
def a_held_row_uses_the_rooms_of_this_worker(original, ledger, partition, key, held):
    original(ledger, partition, key, False)


@breaks(Ledger, "_spend_key")
def a_limit_key_has_room_without_end(*_):
    pass


@breaks(Ledger, "_spend_partition")
def the_null_partition_is_not_limited(original, ledger, partition, held):
    if partition is not None:
        original(ledger, partition, held)


@breaks(Rooms, "of_partition")
def a_partition_is_not_limited_on_this_worker(original, rooms, partition):
    return PartitionRoom(original(rooms, partition).fleet, None)


@breaks(Rooms, "of_partition")
def a_partition_is_not_limited_in_the_fleet(original, rooms, partition):
    return PartitionRoom(None, original(rooms, partition).worker)


# The test


@pytest.mark.parametrize(("owner", "name", "mutant"), MUTANTS)
def test_a_broken_rule_is_noticed(owner, name, mutant, monkeypatch):
    monkeypatch.setattr(owner, name, mutant)
    assert first_difference() is not None


def first_difference():
    """Find the first seed whose claim goes wrong or does not come to an end."""
    for seed in range(WORLDS):
        world = random_world(seed)
        try:
            if Claim(world).take() != world.expected():
                return seed
        except (AssertionError, LookupError, ValueError):
            return seed
    return None
