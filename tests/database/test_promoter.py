"""What is due by the clock: delayed and woken runs join the line, each at its time, the earliest first."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from django_durable.core.states import Status
from django_durable.maintenance.promoter import Promoter
from django_durable.models import WorkflowStatus
from django_durable.models.database import Clock
from django_durable.worker.polling.patience import LONGEST
from django_durable.worker.timekeeper import LONGEST_REST, Timekeeper
from tests.factories import QueueFactory, WorkflowFactory
from tests.testapp.workflows import echo


def delayed(seconds: float, **more: object) -> WorkflowStatus:
    due = Clock() + timedelta(seconds=seconds)
    row: WorkflowStatus = WorkflowFactory.create(status=Status.DELAYED, delay_until=due, **more)
    return row


@pytest.fixture
def promoter(db: None) -> Promoter:
    return Promoter("default")


def in_line() -> list[str]:
    return list(
        WorkflowStatus.objects.filter(line__isnull=False).order_by("line").values_list("id", flat=True)
    )


def test_those_whose_time_has_come_stand_in_line_in_the_order_of_their_times(promoter):
    late, early = delayed(-1), delayed(-2)
    later = delayed(60)
    assert promoter.run_once().queues == {"default": 2}
    assert in_line() == [early.id, late.id]
    later.refresh_from_db()
    assert (later.status, later.line) == (Status.DELAYED, None)


def test_one_that_had_a_place_gets_it_back(promoter):
    first = echo.enqueue(1)
    returned = delayed(-1, seq=first.record.seq - 1)
    promoter.run_once()
    assert in_line() == [returned.id, first.id]


def test_what_it_writes_is_what_an_enqueue_writes(promoter):
    run = delayed(-1)
    promoter.run_once()
    enqueued = echo.enqueue(1).record
    run.refresh_from_db()
    for mark in ("status", "delay_until", "claim_token", "executor_id", "claim_seq"):
        assert getattr(run, mark) == getattr(enqueued, mark)
    assert run.seq == run.line == run.group_line
    assert run.arrival == enqueued.arrival - 1
    assert run.enqueued_xid == enqueued.enqueued_xid


def test_a_batch_takes_the_earliest_and_leaves_the_rest_to_the_next(db):
    runs = [delayed(-10 + number) for number in range(5)]
    promoter = Promoter("default", batch=2)
    promoter.run_once()
    assert in_line() == [run.id for run in runs[:2]]
    promoter.run_once()
    assert in_line() == [run.id for run in runs[:4]]


def test_one_that_a_peer_is_at_is_left_to_it(transactional_db):
    from tests.race import Side

    held, free = delayed(-2), delayed(-1)
    peer = Side()
    try:
        peer.begin()
        peer.do(WorkflowStatus.objects.select_for_update().get, pk=held.pk)
        Promoter("default").run_once()
        assert in_line() == [free.id]
        timekeeper = Timekeeper("default")
        assert 0 < timekeeper.tick() < LONGEST_REST  # overdue, and not to be had: neither spin nor oversleep
    finally:
        peer.close()


def test_the_timekeeper_rests_until_the_next_is_due_and_no_longer_than_a_second(db):
    timekeeper = Timekeeper("default")
    assert timekeeper.tick() == LONGEST_REST
    delayed(3600)
    assert timekeeper.tick() == LONGEST_REST
    delayed(0.5)
    assert 0 < timekeeper.tick() <= 0.5


def test_the_timekeeper_looks_again_at_once_after_it_did_something(db):
    woken = []
    timekeeper = Timekeeper("default")
    timekeeper.on_work = lambda: woken.append(1)
    run = delayed(-1)
    assert timekeeper.tick() == 0
    assert in_line() == [run.id]
    assert woken == [1]
    assert timekeeper.tick() == LONGEST_REST


def test_the_timekeeper_wakes_those_that_go_back_in_line(db):
    QueueFactory.create(name="light", waiting_holds_slot=False)
    past = Clock() - timedelta(seconds=1)
    waiting = {"status": Status.WAITING, "queue": "light", "claim_seq": None}
    run = WorkflowFactory.create(**waiting, wake_at=past, seq=7)
    WorkflowFactory.create(**waiting, wake_at=Clock() + timedelta(seconds=0.5))
    timekeeper = Timekeeper("default")
    assert timekeeper.tick() == 0
    assert in_line() == [run.id]
    assert 0 < timekeeper.tick() <= 0.5


def test_the_first_notice_makes_the_timekeeper_look_at_once_and_later_ones_wait_if_it_was_in_vain(
    db, django_assert_num_queries
):
    wakes = []
    timekeeper = Timekeeper("default")
    timekeeper.wake = lambda: wakes.append(1)
    timekeeper.tick()
    timekeeper.notice()
    assert wakes == [1]
    assert timekeeper.tick() == LONGEST_REST  # it looked
    timekeeper._patience.between = lambda low, high: high
    timekeeper.notice()
    with django_assert_num_queries(0):
        assert 0 < timekeeper.tick() <= LONGEST
    delayed(0.5)
    assert 0 < timekeeper.tick() <= 0.5


def test_a_timekeeper_that_found_something_due_looks_at_the_next_notice_at_once(db):
    timekeeper = Timekeeper("default")
    timekeeper._patience.between = lambda low, high: high
    for _ in range(5):
        timekeeper.notice()
        timekeeper.tick()
    delayed(-1)
    assert timekeeper.tick() == 0
    timekeeper.notice()
    assert timekeeper.tick() == LONGEST_REST  # it looked


HALF = 0.5


class AtItsInstant:
    """A timekeeper that knows an instant, and whether a peer was there before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("django_durable.worker.timekeeper.time", clock)
        self.timekeeper = Timekeeper("default")
        self.timekeeper._punctuality.between = lambda low, high: high

    def comes_late(self) -> float:
        """Rest until what is due in half a second; by how many hundredths of one it comes later than that."""
        rest = self.timekeeper.tick()
        self.now += rest
        return round((rest - HALF) * 100)


def test_who_comes_to_an_instant_in_vain_comes_later_to_the_next_until_it_finds_something(db, monkeypatch):
    keeper = AtItsInstant(monkeypatch)
    late = []
    for _ in range(6):
        run = delayed(HALF)
        late.append(keeper.comes_late())
        run.delete()  # a peer was there
        assert keeper.timekeeper.tick() == LONGEST_REST
    assert late == [0, 2, 4, 8, 16, 25]
    delayed(-1)
    assert keeper.timekeeper.tick() == 0
    delayed(HALF)
    assert keeper.comes_late() == 0


def test_who_is_woken_before_an_instant_did_not_come_in_vain(db, monkeypatch):
    keeper = AtItsInstant(monkeypatch)
    delayed(HALF)
    for _ in range(3):
        assert round(keeper.timekeeper.tick(), 1) == HALF


def test_a_timekeeper_at_rest_loses_no_punctuality(db, monkeypatch):
    keeper = AtItsInstant(monkeypatch)
    for _ in range(3):
        keeper.now += keeper.timekeeper.tick()
    delayed(HALF)
    assert keeper.comes_late() == 0
