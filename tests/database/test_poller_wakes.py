"""Runs that woke: taken first; those that this worker may not take are not asked for without end."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from django_durable.core.states import Status
from django_durable.models import Queue, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.worker.polling.heat import HOT
from tests.database.test_poller import LONGEST, Watch, ready
from tests.factories import QueueFactory, WorkflowFactory

pytestmark = pytest.mark.django_db


def sleeper(seconds: float = -1.0, queue: str = "default", **options: object) -> WorkflowStatus:
    return WorkflowFactory.create(
        status=Status.WAITING,
        wake_at=Clock() + timedelta(seconds=seconds),
        input="",
        started_at=Clock(),
        queue=queue,
        **options,
    )


def cool(watch: Watch) -> float:
    """Tick until nothing is left of what a notice or a find heated; then how long it rests."""
    until = time.monotonic() + 10 * HOT
    while (rest := watch.tick()) < 1.0 and time.monotonic() < until:
        pass
    return rest


@pytest.fixture(params=["worker_concurrency", "partition_worker_concurrency"])
def full(request) -> Watch:
    """This worker has all it may have of the queue, and a run of it is due to go on."""
    Queue.objects.update(**{request.param: 1})
    ready(1, partition_key="p")
    watch = Watch(slots=5, interval=100.0)
    watch.tick()
    sleeper(partition_key="p")
    watch.poller.notice()
    return watch


def test_one_that_this_worker_may_not_take_is_asked_for_no_more_than_its_queue(
    full, django_assert_num_queries
):
    assert cool(full) > 90
    with django_assert_num_queries(0):
        assert full.tick() > 90
    assert len(full.taken) == 1


def test_it_is_taken_as_soon_as_a_run_of_its_queue_ends_here(full):
    cool(full)
    full.wakes = 0
    full.pool.end(full.pool.owned[0])
    assert full.wakes == 1
    full.tick()
    assert len(full.taken) == 1
    assert not WorkflowStatus.objects.filter(status=Status.WAITING).exists()


def test_the_wakes_of_other_queues_are_kept_meanwhile(full):
    QueueFactory.create(name="other")
    full.queue_set.tick()
    cool(full)
    sleeper(0.2, "other")
    full.poller.notice()
    until = time.monotonic() + LONGEST
    while "other" not in full.taken and time.monotonic() < until:
        full.tick()
    assert "other" in full.taken
    assert cool(full) > 90


def test_one_that_wakes_behind_one_of_a_full_partition_is_taken_when_it_does():
    Queue.objects.update(partition_worker_concurrency=1)
    ready(1, partition_key="p")
    watch = Watch(slots=5, interval=100.0)
    watch.tick()
    sleeper(partition_key="p")
    later = sleeper(4 * HOT, partition_key="another")
    watch.poller.notice()
    until = time.monotonic() + 10
    while later.id not in {run.id for run in watch.pool.owned} and time.monotonic() < until:
        watch.tick()
    assert later.id in {run.id for run in watch.pool.owned}
    assert cool(watch) > 90


def test_they_are_taken_before_a_line_that_has_no_end(monkeypatch):
    monkeypatch.setattr("django_durable.worker.polling.poller.LEARN_WAKES", 0.0)
    ready(20)
    watch = Watch(slots=1, interval=100.0)
    watch.tick()
    woken = sleeper()
    watch.poller.run_waits()
    watch.pool.end(watch.pool.owned[0])
    watch.tick()
    assert [run.id for run in watch.pool.owned] == [woken.id]


def test_one_that_a_peer_put_to_wait_is_found_behind_a_full_line_within_an_interval():
    ready(20)
    watch = Watch(slots=1, interval=0.02)
    watch.tick()
    woken = sleeper()
    until = time.monotonic() + LONGEST
    took = 0
    while woken.id not in {run.id for run in watch.pool.owned} and time.monotonic() < until and took < 20:
        time_of_a_run = time.monotonic() + 0.01
        while time.monotonic() < time_of_a_run:
            pass
        watch.pool.end(watch.pool.owned[0])
        watch.tick()
        took += 1
    assert took < 10
