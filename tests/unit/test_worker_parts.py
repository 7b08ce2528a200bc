"""The parts of a worker that need no database: bells, cadences, lines of writes, what signals ask for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import DataError, IntegrityError, InternalError, OperationalError

from django_durable.claim.claimer import Claims
from django_durable.core.outcomes import Completed, Deferred, Failed, Waiting
from django_durable.core.planning.candidates import Candidate
from django_durable.core.planning.limits import Rooms
from django_durable.core.planning.planner import Planner
from django_durable.core.portions import CHARACTERS_A_STATEMENT, ROWS_A_STATEMENT
from django_durable.worker.polling.asked import TOGETHER, Asked
from django_durable.worker.polling.bell import Bell
from django_durable.worker.polling.cadence import LONGEST, Cadence
from django_durable.worker.polling.queue_set import ServedQueue
from django_durable.worker.process import leash
from django_durable.worker.process.os_signals import Requests
from django_durable.worker.process.supervisor import resident_megabytes
from django_durable.worker.slots.tally import word_for
from django_durable.worker.writing.lane import (
    TRIES,
    Lane,
    is_poison,
)

SECONDS = 30


class TestBell:
    def test_rung_before_it_ends_the_next_wait_at_once(self):
        bell = Bell()
        bell.ring()
        bell.ring()
        assert bell.wait(SECONDS)
        assert not bell.wait(0)

    def test_rung_from_another_thread_it_ends_a_wait(self):
        bell = Bell()
        threading.Timer(0.01, bell.ring).start()
        assert bell.wait()

    def test_it_can_be_rung_by_a_signal_while_it_is_waited_for(self):
        bell = Bell()
        former = signal.signal(signal.SIGUSR1, lambda *_: bell.ring())
        try:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            assert bell.wait(SECONDS)
        finally:
            signal.signal(signal.SIGUSR1, former)


class TestCadence:
    def test_a_conflict_doubles_the_interval_and_success_brings_it_back_by_tenths(self):
        cadence = Cadence(1.0)
        cadence.met_conflict()
        cadence.met_conflict()
        assert cadence.interval == 4.0
        cadence.went_well()
        assert cadence.interval == pytest.approx(3.6)
        for _ in range(50):
            cadence.went_well()
        assert cadence.interval == 1.0

    def test_it_grows_to_its_bound_and_no_further(self):
        cadence = Cadence(1.0)
        for _ in range(100):
            cadence.met_conflict()
        assert cadence.interval == LONGEST

    def test_a_queue_whose_own_interval_is_longer_keeps_that(self):
        cadence = Cadence(1_000.0)
        cadence.met_conflict()
        assert cadence.interval == 1_000.0

    def test_it_follows_a_change_of_its_own(self):
        cadence = Cadence(1.0)
        cadence.own = 5.0
        assert cadence.interval == 5.0


class TestAsked:
    @pytest.fixture
    def asked(self) -> Asked:
        return Asked(ServedQueue("q", 10.0, None))

    def test_it_is_asked_at_once_and_then_when_it_is_due(self, asked):
        assert asked.is_asked(0.0, False, False)
        asked.was_empty(0.0, 1.0)
        assert not asked.is_asked(9.9, False, False)
        assert asked.is_asked(10.0, False, False)

    def test_it_goes_along_a_little_early(self, asked):
        asked.was_empty(0.0, 1.0)
        assert not asked.goes_along(7.9, False, False)
        assert asked.goes_along(10.0 - 10.0 * TOGETHER, False, False)

    def test_a_full_claim_leaves_it_hungry_and_it_is_asked_for_once_an_interval_only(self, asked):
        asked.was_asked(0.0)
        asked.was_claimed(Claims([None, None]), 2, 5.0, 1.0)  # type: ignore[list-item]
        assert asked.is_hungry
        assert not asked.is_asked(9.9, True, True)
        assert asked.is_asked(10.0, False, False)

    def test_a_run_that_woke_and_was_left_waits_for_an_end_here(self, asked):
        asked.was_claimed(Claims([], leaves_woken=True), 2, 0.0, 1.0)
        assert asked.is_limited

    @pytest.mark.parametrize("line_ended", [True, False])
    def test_a_claim_that_was_stopped_short_of_the_end_met_a_limit(self, asked, line_ended):
        planner = Planner(Rooms(2, queue=None if line_ended else 0))
        planner.read([Candidate("w", 0, 1)], ended=True)
        asked.was_claimed(Claims([], planner), 2, 0.0, 1.0)
        assert asked.is_limited is not line_ended

    def test_a_limited_one_is_not_part_of_the_quick_questions(self, asked):
        asked.was_claimed(Claims([], Planner(Rooms(2, queue=0))), 2, 0.0, 1.0)
        assert not asked.is_asked(1.0, False, True)
        assert asked.is_asked(1.0, True, False)

    def test_a_peer_at_work_is_come_back_to_soon_but_not_sooner(self, asked):
        asked.met_a_peer(0.0)
        assert not asked.goes_along(0.01, False, False)
        assert asked.is_asked(0.02, False, False)

    def test_a_conflict_stretches_its_rest(self, asked):
        asked.met_conflict(0.0, 1.0)
        assert asked.due == 20.0


class Sink:
    """What a lane writes to; it raises what it is told to, for the items it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.refused: list[str] = []
        self.errors: list[Exception] = []
        self.bad: dict[str, Exception] = {}

    def write(self, some: Any) -> None:
        if self.errors:
            raise self.errors.pop(0)
        for item in some:
            if item in self.bad:
                raise self.bad[item]
        self.batches.append(list(some))

    def refuse(self, item: str, error: Exception) -> None:
        self.refused.append(item)


class TestLane:
    @pytest.fixture
    def sink(self) -> Sink:
        return Sink()

    @pytest.fixture
    def lane(self, sink: Sink) -> Lane[str]:
        lane = Lane(sink.write, sink.refuse, len)
        for item in "abc":
            lane.append(item)
        return lane

    def test_what_is_flushed_goes_together_and_in_order(self, lane, sink):
        lane.flush(2)
        assert sink.batches == [["a", "b"]]
        assert len(lane) == 1

    def test_a_statement_has_its_bound(self, sink):
        lane = Lane(sink.write, sink.refuse, len)
        for number in range(ROWS_A_STATEMENT + 1):
            lane.append(str(number))
        lane.flush(len(lane))
        assert [len(batch) for batch in sink.batches] == [ROWS_A_STATEMENT, 1]

    def test_so_has_its_text_but_for_one_that_is_larger_alone(self, sink):
        half = "x" * (CHARACTERS_A_STATEMENT // 2)
        lane = Lane(sink.write, sink.refuse, len)
        for item in ("a", half, half, "b", half * 3, "c"):
            lane.append(item)
        lane.flush(len(lane))
        assert [len(batch) for batch in sink.batches] == [3, 2, 1]
        assert len(lane) == 0

    def test_what_could_not_be_sent_keeps_its_order(self, lane, sink):
        sink.errors = [coded(OperationalError, "57P01")]
        with pytest.raises(OperationalError):
            lane.flush(2)
        lane.flush(3)
        assert sink.batches == [["a", "b", "c"]]

    def test_one_bad_item_is_refused_and_the_others_go(self, lane, sink):
        sink.bad = {"b": DataError()}
        lane.flush(3)
        assert sink.batches == [["a"], ["c"]]
        assert sink.refused == ["b"]
        assert len(lane) == 0

    def test_the_database_gone_in_the_middle_of_it_keeps_what_is_left(self, lane, sink):
        sink.errors = [DataError()]
        sink.bad = {"b": coded(OperationalError, "57P01")}
        with pytest.raises(OperationalError):
            lane.flush(3)
        sink.bad = {}
        lane.flush(len(lane))
        assert sink.batches == [["a"], ["b", "c"]]

    def test_a_conflict_is_tried_again(self, lane, sink):
        sink.errors = [coded(OperationalError, "40001")] * (TRIES - 1)
        lane.flush(3)
        assert sink.batches == [["a", "b", "c"]]


def coded(kind: type[Exception], code: str | None) -> Exception:
    error, cause = kind("told"), Exception("the driver's")
    cause.sqlstate = code  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "poisons"),
    [
        (coded(DataError, "22P02"), True),
        (coded(IntegrityError, "23514"), True),
        (coded(OperationalError, "54000"), True),
        (coded(InternalError, "P0001"), True),
        (coded(OperationalError, "57P01"), False),
        (coded(OperationalError, "53100"), False),
        (coded(InternalError, "25006"), False),
        (coded(OperationalError, "40001"), False),
        (coded(OperationalError, None), False),
        (coded(DataError, None), True),
        (UnicodeEncodeError("utf-8", "x", 0, 1, "surrogates"), True),
        (MemoryError(), True),
    ],
)
def test_poison_is_what_no_database_could_store(error, poisons):
    assert is_poison(error) is poisons


@pytest.mark.parametrize(
    ("outcome", "held", "word"),
    [
        (Completed("1"), True, "succeeded"),
        (Failed("e"), True, "failed"),
        (Deferred(1.0), True, "deferred"),
        (Waiting(None), True, "suspended"),
        (Completed("1"), False, "superseded"),
    ],
)
def test_each_end_has_a_word(outcome, held, word):
    assert word_for(outcome, held) == word


CODES = [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]


class TestRequests:
    @pytest.fixture
    def requests(self) -> Iterator[Requests]:
        requests = Requests()
        requests.install()
        yield requests
        requests.restore()

    @pytest.mark.parametrize(("number", "code"), CODES)
    def test_the_first_asks_to_stop_and_the_second_forces(self, requests, number, code):
        os.kill(os.getpid(), number)
        assert requests.bell.wait(SECONDS)
        assert (requests.wants_stop, requests.wants_force, requests.exit_code) == (True, False, 0)
        os.kill(os.getpid(), number)
        assert requests.bell.wait(SECONDS)
        assert (requests.wants_force, requests.exit_code) == (True, code)

    def test_a_stop_from_inside_is_not_the_first_of_two_signals(self, requests):
        requests.stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert requests.bell.wait(SECONDS)
        assert not requests.wants_force

    def test_quit_asks_for_the_stacks_only(self, requests):
        os.kill(os.getpid(), signal.SIGQUIT)
        assert requests.bell.wait(SECONDS)
        assert (requests.wants_stacks, requests.wants_stop) == (True, False)

    def test_what_was_there_before_is_there_again(self):
        former = signal.getsignal(signal.SIGTERM)
        requests = Requests()
        requests.install()
        requests.install()
        requests.restore()
        assert signal.getsignal(signal.SIGTERM) == former

    def test_outside_the_main_thread_there_are_none(self):
        requests = Requests()
        former = signal.getsignal(signal.SIGTERM)
        thread = threading.Thread(target=requests.install)
        thread.start()
        thread.join(SECONDS)
        assert signal.getsignal(signal.SIGTERM) == former


class TestLeash:
    @pytest.fixture
    def ends(self) -> Iterator[tuple[Requests, int]]:
        requests = Requests()
        read, write = os.pipe()
        leash.obey(requests, read)
        yield requests, write
        for end in (read, write):
            with suppress(OSError):
                os.close(end)

    def test_a_word_stops_and_another_forces(self, ends):
        requests, write = ends
        os.write(write, leash.STOP)
        assert requests.bell.wait(SECONDS)
        assert (requests.wants_stop, requests.wants_force) == (True, False)
        os.write(write, leash.FORCE)
        assert requests.bell.wait(SECONDS)
        assert requests.wants_force

    def test_its_end_stops(self, ends):
        requests, write = ends
        os.close(write)
        assert requests.bell.wait(SECONDS)
        assert (requests.wants_stop, requests.wants_force) == (True, False)

    def test_one_that_has_ended_hears_nothing(self):
        child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
        child.wait(SECONDS)
        leash.pull(child, leash.STOP)
        assert child.stdin is not None
        child.stdin.close()
        leash.pull(child, leash.STOP)


def test_memory_is_told_in_megabytes():
    assert 10 < resident_megabytes() < 10_000
