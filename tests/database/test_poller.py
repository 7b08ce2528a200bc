"""When a worker asks for work, what it claims, and what it leaves alone."""

from __future__ import annotations

import logging
import math
import time
from datetime import timedelta
from uuid import UUID

import pytest

from django_durable.core.run import Run
from django_durable.core.states import Status
from django_durable.models import Executor, Queue, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.signals import transition
from django_durable.worker.polling.cadence import SOON
from django_durable.worker.polling.heat import HOT
from django_durable.worker.polling.poller import Poller
from django_durable.worker.polling.queue_set import QueueSet
from django_durable.worker.slots.pool import Pool
from django_durable.worker.slots.tally import Tally
from django_durable.worker.writing.recording import GroupRecorder
from tests.factories import ExecutorFactory, QueueFactory, WorkflowFactory
from tests.faults import CLAIMS, fault
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db
LONGEST = 30


class Lease:
    """What the poller asks of a heartbeat."""

    executor: UUID | None = None


class StillPool(Pool):
    """Slots that are taken and never run anything, until they are told that it ended."""

    def submit(self, run: Run) -> bool:
        if not self._is_open:
            return False
        self.tally.take(run)
        self._owned[run.fence] = self._busy[run.fence] = run
        return True

    def end(self, run: Run) -> None:
        """As the row says it: the run is over, its slot and limits are free."""
        WorkflowStatus.objects.filter(pk=run.id).update(
            status=Status.SUCCESS, claim_token=None, executor=None, claim_seq=None, completed_at=Clock()
        )
        self._busy.pop(run.fence)
        self._end(run.fence, "succeeded")

    @property
    def taken(self) -> list[str]:
        return [run.queue for run in self.owned]


class Watch:
    """One poller at a standstill: each `tick` is what it would do by itself."""

    def __init__(self, slots: int, interval: float = 1.0, **queues: object) -> None:
        self.lease = Lease()
        self.lease.executor = ExecutorFactory.create().id
        self.pool = StillPool(slots, GroupRecorder("default"), Tally(), "default")
        self.queue_set = QueueSet("default", interval, **queues)
        self.poller = Poller(self.queue_set, self.pool, self.lease, "default")
        self.wakes = 0
        self.poller.wake = self._wake
        self.pool.on_slot_free = self.poller.slot_freed
        self.pool.on_end = lambda run, outcome: self.poller.run_ended(run.queue, run.limit_key)
        self.queue_set.tick()

    def _wake(self) -> None:
        self.wakes += 1

    def tick(self) -> float:
        return self.poller.tick()

    @property
    def taken(self) -> list[str]:
        return self.pool.taken


def ready(count: int, queue: str = "default", **options: object) -> None:
    echo.using(queue=queue, **options).enqueue_many([((number,), {}) for number in range(count)])


def test_it_claims_for_the_free_slots_and_no_more():
    ready(5)
    watch = Watch(slots=3)
    assert watch.tick() == math.inf
    assert len(watch.taken) == 3
    assert WorkflowStatus.objects.filter(status=Status.PENDING).count() == 3


def test_without_a_free_slot_it_asks_nothing(django_assert_num_queries):
    ready(5)
    watch = Watch(slots=1)
    watch.tick()
    with django_assert_num_queries(0):
        assert watch.tick() == math.inf


def test_a_slot_that_frees_wakes_it_and_is_filled_without_asking():
    ready(5)
    watch = Watch(slots=1)
    watch.tick()
    watch.pool.end(watch.pool.owned[0])
    watch.pool.on_slot_free()
    assert watch.wakes == 1
    watch.tick()
    assert len(watch.taken) == 1
    assert watch.pool.tally.done["claimed"] == 2


def test_a_free_slot_wakes_nobody_who_has_slots_enough():
    watch = Watch(slots=2)
    watch.tick()
    watch.pool.on_slot_free()
    assert watch.wakes == 0


def test_without_a_lease_it_claims_nothing():
    ready(1)
    watch = Watch(slots=1)
    watch.lease.executor = None
    assert watch.tick() == math.inf
    assert watch.taken == []


def test_a_new_executor_is_claimed_under_from_then_on():
    ready(2)
    watch = Watch(slots=1)
    watch.tick()
    second = ExecutorFactory.create()
    watch.lease.executor = second.id
    watch.pool.end(watch.pool.owned[0])
    watch.tick()
    assert Executor.objects.get(runs__status=Status.PENDING) == second


def test_once_it_is_closed_it_claims_nothing():
    ready(1)
    watch = Watch(slots=1)
    watch.poller.close()
    assert watch.tick() == math.inf
    assert watch.taken == []


def test_what_a_closed_pool_refuses_is_given_back():
    ready(2)
    watch = Watch(slots=2)
    given_back: list[Run] = []
    watch.poller.give_back = given_back.extend
    watch.pool.close()
    watch.tick()
    assert len(given_back) == 2


def test_all_queues_are_asked_for_in_the_same_question(django_assert_max_num_queries):
    for _ in range(50):
        QueueFactory.create()
    watch = Watch(slots=1)
    watch.tick()
    watch.poller.look()
    with django_assert_max_num_queries(3):
        watch.tick()


def test_an_idle_one_asks_once_an_interval(django_assert_num_queries):
    watch = Watch(slots=1, interval=10.0)
    assert 9.5 <= watch.tick() <= 10.5
    with django_assert_num_queries(0):
        assert 9 < watch.tick() <= 10.5


def test_a_queue_has_an_interval_of_its_own():
    QueueFactory.create(name="slow", polling_interval=100.0)
    watch = Watch(slots=1, interval=10.0)
    assert 9.5 <= watch.tick() <= 10.5
    Queue.objects.exclude(name="slow").delete()
    watch.queue_set.tick()
    assert 90 < watch.tick() <= 105


def test_a_notice_makes_it_ask_for_all_at_once_and_once_more():
    """What is enqueued next may come without a notice of its own."""
    watch = Watch(slots=1, interval=100.0)
    watch.tick()
    watch.poller.notice()
    assert watch.wakes == 1
    assert 0 <= watch.tick() <= HOT
    ready(1)
    until = time.monotonic() + HOT
    while not watch.taken and time.monotonic() < until:
        watch.tick()
    assert watch.taken == ["default"]


def test_it_cools_down_when_nothing_is_found():
    watch = Watch(slots=1, interval=100.0)
    watch.poller.notice()
    until = time.monotonic() + LONGEST
    while (rest := watch.tick()) <= HOT:
        assert time.monotonic() < until
    assert rest > 90


def test_after_a_find_it_asks_quickly():
    ready(1)
    watch = Watch(slots=2, interval=100.0)
    assert 0 <= watch.tick() <= SOON


def test_work_in_several_queues_is_taken_in_turn():
    names = [QueueFactory.create().name for _ in range(3)]
    for name in names:
        ready(5, name)
    watch = Watch(slots=6)
    watch.tick()
    assert sorted(watch.taken) == sorted(names * 2)


def test_no_queue_is_starved_by_another():
    QueueFactory.create(name="flood")
    QueueFactory.create(name="trickle")
    ready(50, "flood")
    ready(2, "trickle")
    watch = Watch(slots=1)
    order = []
    for _ in range(4):
        watch.tick()
        (run,) = watch.pool.owned
        order.append(run.queue)
        watch.pool.end(run)
    assert order.count("trickle") == 2


def test_a_paused_queue_is_not_asked_for(django_assert_num_queries):
    ready(1)
    Queue.objects.pause()
    watch = Watch(slots=1)
    with django_assert_num_queries(0):
        assert watch.tick() == math.inf
    Queue.objects.unpause()
    watch.queue_set.tick()
    watch.tick()
    assert watch.taken == ["default"]


def test_only_the_named_queues_are_served():
    for name in ("a", "b", "c"):
        QueueFactory.create(name=name)
        ready(1, name)
    watch = Watch(slots=9, only=("a", "b"), exclude=("b",))
    watch.tick()
    assert watch.taken == ["a"]


def test_a_named_queue_without_a_row_is_told_once_and_served_when_it_comes(caplog):
    with caplog.at_level(logging.WARNING, "django_durable"):
        watch = Watch(slots=1, only=("later",))
        watch.queue_set.tick()
    assert [record.event for record in caplog.records] == ["no_such_queue"]
    QueueFactory.create(name="later")
    ready(1, "later")
    watch.queue_set.tick()
    watch.tick()
    assert watch.taken == ["later"]


def test_a_queue_that_is_asked_for_more_seldom_than_leases_end_is_told_once(caplog):
    QueueFactory.create(name="slow", polling_interval=30.0)
    QueueFactory.create(name="quick", polling_interval=29.9)
    with caplog.at_level(logging.WARNING, "django_durable"):
        watch = Watch(slots=1, lease=30.0)
        watch.queue_set.tick()
    assert [(record.event, record.queue) for record in caplog.records] == [("seldom", "slow")]


def test_a_queue_that_is_gone_is_forgotten_and_one_that_is_back_is_served():
    watch = Watch(slots=1)
    row = Queue.objects.get()
    Queue.objects.all().delete()
    watch.queue_set.tick()
    assert watch.tick() == math.inf
    row.save(force_insert=True)
    ready(1)
    watch.queue_set.tick()
    watch.tick()
    assert watch.taken == ["default"]


def test_a_change_of_the_queues_wakes_it():
    watch = Watch(slots=1)
    watch.queue_set.on_change = watch.poller.wake
    watch.queue_set.tick()
    assert watch.wakes == 0
    QueueFactory.create()
    watch.queue_set.tick()
    assert watch.wakes == 1


def test_what_ends_here_frees_what_it_took_of_a_limit_at_once():
    Queue.objects.update(concurrency=1)
    ready(2)
    watch = Watch(slots=5)
    watch.tick()
    rest = watch.tick()
    assert len(watch.taken) == 1
    assert rest > 0
    (run,) = watch.pool.owned
    watch.pool.end(run)
    assert watch.wakes == 1
    watch.tick()
    assert len(watch.taken) == 1
    assert watch.pool.tally.done["claimed"] == 2


def test_a_worker_limit_that_is_reached_is_known_without_asking():
    Queue.objects.update(worker_concurrency=1)
    ready(2)
    watch = Watch(slots=5)
    watch.tick()
    watch.tick()
    assert len(watch.taken) == 1
    watch.pool.end(watch.pool.owned[0])
    watch.tick()
    assert watch.pool.tally.done["claimed"] == 2


def test_a_waiting_run_is_claimed_when_it_wakes():
    WorkflowFactory.create(
        status=Status.WAITING, wake_at=Clock() + timedelta(seconds=0.05), input="", started_at=Clock()
    )
    watch = Watch(slots=1, interval=100.0)
    until = time.monotonic() + LONGEST
    rests = [watch.tick()]
    while not watch.taken and time.monotonic() < until:
        rests.append(watch.tick())
    assert watch.taken == ["default"]
    assert rests[0] <= 0.05


def test_a_run_that_goes_to_wait_here_wakes_in_time_though_its_queue_is_seldom_asked_for(monkeypatch):
    monkeypatch.setattr("django_durable.worker.polling.poller.LEARN_WAKES", 0.0)
    watch = Watch(slots=1, interval=100.0)
    watch.tick()
    assert watch.tick() > 90
    WorkflowFactory.create(
        status=Status.WAITING, wake_at=Clock() + timedelta(seconds=0.05), input="", started_at=Clock()
    )
    watch.poller.run_waits()
    assert watch.tick() <= 0.05


def test_a_conflict_makes_it_ask_less_often(caplog):
    ready(1)
    watch = Watch(slots=1, interval=1.0)
    with fault("40001", times=1, condition=CLAIMS):
        rest = watch.tick()
    assert 1.9 <= rest <= 2.1
    assert caplog.records == []
    watch.poller.look()
    watch.tick()
    assert watch.taken == ["default"]


def test_a_lock_that_a_peer_holds_is_tried_again_soon(caplog):
    ready(1)
    watch = Watch(slots=1, interval=100.0)
    with fault("55P03", times=1, condition=CLAIMS):
        assert watch.tick() <= SOON
    assert caplog.records == []
    until = time.monotonic() + LONGEST
    while not watch.taken and time.monotonic() < until:
        watch.tick()
    assert watch.taken == ["default"]


@pytest.mark.parametrize("code", ["40P01", "22012", "P0001"])
def test_another_error_is_told_as_one_and_its_queue_tried_again(code, caplog):
    ready(1)
    watch = Watch(slots=1)
    with fault(code, times=2, condition=CLAIMS), caplog.at_level(logging.INFO, "django_durable"):
        for _ in range(3):
            watch.poller.look()
            watch.tick()
    assert watch.taken == ["default"]
    assert [(record.event, record.levelname) for record in caplog.records] == [
        ("failure", "ERROR"),
        ("recovered", "INFO"),
    ]


def test_one_queue_that_cannot_be_claimed_from_stops_no_other(caplog):
    """B006, B046: a receiver of `transition` refuses each claim of its queue."""
    for name in ("bad", "good"):
        QueueFactory.create(name=name)
        ready(2, name)

    def refuse(sender: object, run: Run, **_: object) -> None:
        if run.queue == "bad":
            raise RuntimeError("not this one")

    transition.connect(refuse)
    try:
        watch = Watch(slots=4)
        watch.tick()
        watch.poller.look()
        watch.tick()
    finally:
        transition.disconnect(refuse)
    assert set(watch.taken) == {"good"}
    assert WorkflowStatus.objects.filter(queue="bad", status=Status.ENQUEUED, claims=0).count() == 2


def test_a_look_tells_whether_there_was_anything():
    ready(1)
    watch = Watch(slots=2)
    number = watch.poller.look()
    watch.tick()
    assert watch.poller.last_look == (number, True)
    number = watch.poller.look()
    watch.tick()
    assert watch.poller.last_look == (number, False)


def test_a_look_before_the_queues_were_read_tells_nothing():
    watch = Watch(slots=2)
    watch.queue_set.is_read = False
    watch.poller.look()
    watch.tick()
    assert watch.poller.last_look.number == 0


def test_it_begins_when_it_may():
    ready(1)
    watch = Watch(slots=1)
    watch.poller.may_begin = lambda: False
    assert watch.tick() == SOON
    assert watch.taken == []
