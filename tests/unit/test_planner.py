"""The planner step by step: what it plans, leaves out, takes back, asks for, and says stopped it."""

from __future__ import annotations

import pytest

from django_durable.core.planning.candidates import END, HEAD, Candidate, Place
from django_durable.core.planning.limits import PartitionRoom, Rooms
from django_durable.core.planning.planner import Planner


def row(line: int, key: str | None = None, partition: str | None = None, rank: int = 0) -> Candidate:
    return Candidate(f"w{line}", rank, line, partition, key)


def rows_of(*keys: str) -> list[Candidate]:
    return [row(line, key) for line, key in enumerate(keys)]


def planned(planner: Planner) -> list[str]:
    return [candidate.id for candidate in planner.plan]


class TestSettling:
    def test_nothing_is_settled_before_the_first_window(self):
        planner = Planner(Rooms(1))
        assert (planner.settled, planner.plan, planner.cursor) == (False, [], HEAD)

    @pytest.mark.parametrize("rooms", [Rooms(0), Rooms(3, queue=0), Rooms(3, queue=-2)])
    def test_without_any_room_there_is_nothing_to_read(self, rooms):
        assert Planner(rooms).settled

    def test_partitions_that_all_have_no_room_leave_nothing_to_read(self):
        assert Planner(
            Rooms(3, partition=PartitionRoom(worker=0), partitions={"a": PartitionRoom(0)})
        ).settled

    def test_a_full_plan_in_default_order_is_settled(self):
        planner = Planner(Rooms(2))
        planner.read(rows_of("a", "a", "b"), ended=False)
        assert (planner.settled, planned(planner)) == (True, ["w0", "w1"])

    def test_a_full_plan_in_fair_order_is_settled_if_nobody_has_a_second_turn(self):
        planner = Planner(Rooms(2), fair=True)
        planner.read(rows_of("a", "a", "b"), ended=False)
        assert (planner.settled, planned(planner)) == (True, ["w0", "w2"])

    def test_a_full_plan_in_fair_order_waits_for_a_group_that_may_have_no_load(self):
        planner = Planner(Rooms(2), fair=True)
        planner.read(rows_of("a", "a"), ended=False)
        assert not planner.settled
        planner.read([row(9, "b")], ended=False)
        assert (planner.settled, planned(planner)) == (True, ["w0", "w9"])

    def test_a_plan_above_the_rank_of_the_cursor_is_settled(self):
        planner = Planner(Rooms(2), fair=True)
        planner.read([row(1, "a", rank=-1), row(2, "a", rank=-1), row(3, "a")], ended=False)
        assert planner.settled

    def test_a_window_may_have_looked_further_than_its_last_row(self):
        planner = Planner(Rooms(2, keys={"a": 0}))
        planner.read([row(1, "b")], ended=False, reached=(0, 9))
        assert (planner.settled, planner.cursor) == (False, (0, 9))

    def test_each_window_is_twice_as_large_as_the_one_before(self):
        planner = Planner(Rooms(20))
        sizes = [planner.window]
        for line in range(2):
            planner.read([row(line)], ended=False)
            sizes.append(planner.window)
        assert sizes == [80, 160, 320]


class TestLeavingOut:
    def test_a_limit_key_without_room_is_left_out_of_the_first_window(self):
        assert Planner(Rooms(1, keys={"a": 0, "b": 1})).exclusions == (["a"], [], [])

    def test_a_limit_key_used_up_is_left_out_in_default_order(self):
        planner = Planner(Rooms(3, keys={"a": 1}))
        planner.read(rows_of("a", "a"), ended=False)
        assert planner.exclusions.keys == ["a"]

    def test_a_limit_key_used_up_by_a_loaded_group_is_not_left_out_in_fair_order(self):
        planner = Planner(Rooms(3, keys={"k": 1}), fair=True, busy={"p:a": 1})
        planner.read([row(1, "k", "a")], ended=False)
        assert planner.exclusions.keys == []
        planner.read([row(2, "k", "b")], ended=True)
        assert planned(planner) == ["w2"]

    def test_a_group_that_is_its_limit_key_is_left_out_once_enough_of_it_was_read(self):
        planner = Planner(Rooms(3, keys={"k": 1}), fair=True, busy={"k:k": 1})
        planner.read(rows_of("k", "k"), ended=False)
        assert planner.exclusions == ([], [], ["k:k"])

    def test_the_null_partition_is_left_out_by_the_name_none(self):
        planner = Planner(Rooms(3, partition=PartitionRoom(1)))
        planner.read([row(1), row(2, "k"), row(3, None, "a")], ended=False)
        assert (planned(planner), planner.exclusions.partitions) == (["w1", "w3"], [None, "a"])

    def test_groups_too_loaded_to_win_are_left_out_whether_met_or_not(self):
        planner = Planner(Rooms(2), fair=True, busy={"k:a": 1, "k:b": 1, "k:unmet": 1, "k:far": 5})
        planner.read(rows_of("a", "b", "a"), ended=False)
        assert not planner.settled
        assert set(planner.exclusions.groups) == {"k:a", "k:b", "k:unmet", "k:far"}

    def test_a_key_that_finds_room_in_a_new_count_is_read_again_from_where_it_was_left_out(self):
        planner = Planner(Rooms(2, keys={"a": 0}))
        planner.read(rows_of("b", "c"), ended=False)
        assert planner.settled
        planner.recount(Rooms(2, keys={"a": 1}))
        assert (planner.settled, planner.cursor, planner.exclusions.keys) == (False, HEAD, [])
        planner.read([row(-1, "a"), *rows_of("b", "c")], ended=False)
        assert (planner.settled, planned(planner), planner.passes) == (True, ["w-1", "w0"], 2)

    def test_a_window_asked_for_before_reading_started_again_does_not_move_the_cursor(self):
        planner = Planner(Rooms(2, keys={"a": 0}))
        planner.read([row(5, "b")], ended=False)
        assert planner.cursor == (0, 5)
        planner.recount(Rooms(1, keys={"a": 1}))
        assert not planner.settled
        planner.read([row(6, "b")], ended=False)
        assert planner.cursor == HEAD


class TestLocking:
    def test_a_held_row_keeps_its_turn_and_a_later_one_gets_the_slot(self):
        planner = Planner(Rooms(1, keys={"a": 2}))
        planner.read(rows_of("a", "a", "a", "b"), ended=True)
        planner.held(["w0"])
        assert planner.to_lock == ["w1"]
        planner.held(["w1"])
        assert planner.to_lock == ["w3"]

    def test_a_gone_row_leaves_its_room_and_its_turn_to_others(self):
        planner = Planner(Rooms(1, keys={"a": 1}))
        planner.read(rows_of("a", "a"), ended=True)
        planner.gone(["w0"])
        assert planner.to_lock == ["w1"]

    def test_a_gone_row_that_is_read_again_stays_out(self):
        planner = Planner(Rooms(1))
        planner.read(rows_of("a", "b"), ended=False)
        planner.gone(["w0"])
        planner.read(rows_of("a", "b"), ended=True)
        assert planned(planner) == ["w1"]

    def test_a_gone_row_that_had_no_room_or_was_never_read_changes_nothing(self):
        planner = Planner(Rooms(1, keys={"a": 0}))
        planner.read(rows_of("a", "b"), ended=True)
        planner.gone(["w0", "w9"])
        planner.gone(["w0"])
        assert planned(planner) == ["w1"]

    def test_a_taken_row_is_planned_and_not_locked_again(self):
        planner = Planner(Rooms(2))
        planner.read(rows_of("a", "b"), ended=True)
        planner.taken(["w0"])
        assert (planned(planner), planner.to_lock) == (["w0", "w1"], ["w1"])

    def test_a_taken_row_is_planned_no_more_when_a_gone_one_lets_another_to_its_limit_key(self):
        planner = Planner(Rooms(3, keys={"j": 1}, partition=PartitionRoom(1)))
        planner.read([row(1, "k", "a"), row(2, "j", "a"), row(3, "j", "b")], ended=True)
        assert planned(planner) == ["w1", "w3"]
        planner.taken(["w3"])
        planner.gone(["w1"])
        assert planned(planner) == ["w2"]

    def test_rows_held_reopen_what_was_left_out_for_coming_too_late(self):
        planner = Planner(Rooms(2), fair=True, busy={"k:a": 0, "k:b": 1})
        planner.read([row(1, "a"), row(2, "b")], ended=False)
        assert set(planner.exclusions.groups) >= {"k:a", "k:b"}
        planner.read([], ended=True)
        assert (planner.settled, planned(planner)) == (True, ["w1", "w2"])
        planner.held(["w2"])
        assert (planner.settled, planner.cursor) == (False, (0, 2))
        planner.read([row(3, "b")], ended=True)
        assert (planner.settled, planned(planner)) == (True, ["w1", "w3"])


class TestDirectory:
    def test_a_queue_whose_every_group_has_no_room_is_settled_without_reading_a_row(self):
        planner = Planner(Rooms(5, keys={"a": 0, "b": 0}))
        planner.directory({"k:a": (0, 1), "k:b": (0, 2)}, complete=True)
        assert (planner.settled, planner.next_groups) == (True, [])

    def test_a_part_of_the_directory_settles_nothing(self):
        planner = Planner(Rooms(5, keys={"a": 0, "b": 0}))
        planner.directory({"k:a": (0, 1)}, complete=False)
        assert not planner.settled
        planner.directory({"k:b": (0, 2)}, complete=True)
        assert planner.settled

    def test_an_empty_directory_is_an_empty_queue(self):
        planner = Planner(Rooms(5))
        planner.directory({}, complete=True)
        assert planner.settled

    def test_groups_that_all_have_rows_in_flight_are_settled_by_knowing_them(self):
        keys = [f"t{number}" for number in range(400)]
        planner = Planner(Rooms(20), fair=True, busy={f"k:{key}": 1 for key in keys})
        planner.read(rows_of(*keys[:80]), ended=False)
        assert not planner.settled
        planner.directory({f"k:{key}": (0, line) for line, key in enumerate(keys)}, complete=True)
        assert (planner.settled, len(planner.plan)) == (True, 20)

    def test_only_groups_that_can_still_win_are_named_the_least_loaded_first(self):
        planner = Planner(Rooms(3), fair=True, busy={"k:b": 1, "k:c": 2, "k:d": 3})
        planner.read(rows_of("a", "a", "a", "a"), ended=False)
        places: dict[str, Place] = {
            "k:a": (0, 0),
            "k:b": (0, 30),
            "k:c": (0, 20),
            "k:d": (0, 10),
            "k:e": (0, 40),
        }
        planner.directory(places, complete=True)
        assert [seek.group for seek in planner.next_groups] == ["k:e", "k:b"]
        assert [seek.after for seek in planner.next_groups] == [(0, 39), (0, 29)]

    def test_a_group_is_read_on_behind_its_last_row_until_it_ends(self):
        planner = Planner(Rooms(4))
        planner.directory({"": (0, 1)}, complete=True)
        planner.read_group("", [row(1), row(2)], ended=False)
        assert planner.next_groups[0].after == (0, 2)
        planner.read_group("", [row(3)], ended=True)
        assert (planner.settled, planned(planner)) == (True, ["w1", "w2", "w3"])

    def test_an_answer_to_an_earlier_seek_does_not_move_a_group_that_is_read_again(self):
        planner = Planner(Rooms(2, keys={"k": 0}))
        planner.directory({"p:a": (0, 1)}, complete=True)
        seek = planner.next_groups[0]
        planner.recount(Rooms(2, keys={"k": 1}))
        assert not planner.settled
        planner.read_group(seek.group, [row(7, None, "a")], ended=True)
        assert [seek.after for seek in planner.next_groups] == [(0, 0)]
        planner.read_group(seek.group, [], ended=False)
        assert [seek.after for seek in planner.next_groups] == [(0, 0)]

    def test_a_group_can_be_read_on_its_own_only_once_all_are_known(self):
        with pytest.raises(ValueError, match="'k:a' was read on its own"):
            Planner(Rooms(1)).read_group("k:a", [], ended=True)

    def test_a_group_that_leaves_a_key_out_is_read_again_for_it_from_its_own_place(self):
        """The key was left out of windows far behind the group, and of the group from its own place on."""
        planner = Planner(Rooms(4, queue=2), fair=True, busy={"p:a": 1, "p:b": 1, "p:c": 1})
        planner.read([row(1, None, "b"), row(2, None, "c")], ended=False)
        assert set(planner.exclusions.groups) >= {"p:a", "p:b", "p:c"}
        planner.read([row(10, None, "d")], ended=False)
        planner.recount(Rooms(4, queue=2, keys={"k": 0}))
        planner.directory({"p:a": (0, 4), "p:b": (0, 1), "p:c": (0, 2), "p:d": (0, 10)}, complete=True)
        planner.gone(["w1", "w2", "w10"])
        for group in ("p:b", "p:c", "p:d"):
            planner.read_group(group, [], ended=True)
        assert [(seek.group, seek.after) for seek in planner.next_groups] == [("p:a", (0, 3))]
        assert planner.exclusions.keys == ["k"]
        planner.read_group("p:a", [row(5, None, "a")], ended=True)
        assert (planner.settled, planned(planner)) == (True, ["w5"])
        planner.recount(Rooms(4, queue=2, keys={"k": 1}))
        assert next(seek.after for seek in planner.next_groups if seek.group == "p:a") <= (0, 3)


class TestStoppedBy:
    def stop(self, rooms: Rooms, rows: list[Candidate], ended: bool = True) -> dict[str, object]:
        planner = Planner(rooms)
        planner.read(rows, ended)
        return {name: value for name, value in planner.stopped_by._asdict().items() if value}

    def test_an_empty_line_stops_a_claim_with_room_to_spare(self):
        assert self.stop(Rooms(3), rows_of("a")) == {"line_ended": True}

    def test_a_worker_without_a_free_slot(self):
        assert self.stop(Rooms(1), rows_of("a", "b")) == {"slots": True}

    def test_a_queue_without_room(self):
        assert self.stop(Rooms(3, queue=1), rows_of("a", "b")) == {"queue": True}

    def test_limit_keys_are_named_in_the_order_in_which_rows_wait_for_them(self):
        rooms = Rooms(9, keys={"a": 0, "b": 1, "c": 0, "d": 1})
        assert self.stop(rooms, rows_of("c", "b", "b", "a", "d")) == {"limit_keys": ("c", "b", "a")}

    def test_partitions_are_named_the_null_partition_too(self):
        rooms = Rooms(9, partition=PartitionRoom(1))
        rows = [row(1), row(2), row(3, None, "a"), row(4, None, "a"), row(5, None, "b")]
        assert self.stop(rooms, rows) == {"partitions": (None, "a")}

    def test_groups_known_from_the_directory_alone_are_named_as_well(self):
        planner = Planner(Rooms(9, keys={"a": 0}))
        planner.directory({"k:a": (0, 1)}, complete=True)
        assert planner.stopped_by.limit_keys == ("a",)
        assert not planner.stopped_by.line_ended

    def test_a_line_of_which_a_part_was_left_out_has_not_ended(self):
        planner = Planner(Rooms(9, keys={"a": 0}))
        planner.read([], ended=True)
        assert (planner.settled, planner.cursor, planner.stopped_by.line_ended) == (True, END, False)
