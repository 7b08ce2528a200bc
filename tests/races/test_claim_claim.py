"""Two claims at once: no row goes to both, and no limit is exceeded, whoever commits first."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest

from django_durable.claim.claimer import Claimer
from django_durable.core.states import Status
from django_durable.models import Queue, WorkflowStatus
from django_durable.signals import transition
from tests.factories import ExecutorFactory, LimitFactory, QueueFactory
from tests.races.executions import USING, claim, claim_the_head
from tests.testapp.workflows import echo


@contextmanager
def claim_held_open(race, queue="default", slots=1):
    """A claim of another connection that took its rows and has not committed yet."""
    taken, let_go = threading.Event(), threading.Event()
    side = race.side()

    def wait(run, verb, **_):
        if threading.current_thread() is thread:
            taken.set()
            assert let_go.wait(30)

    thread = side.do(threading.current_thread)
    transition.connect(wait)
    future = side.start(claim, queue, slots)
    try:
        assert taken.wait(30), future.exception(0)
        yield future
    finally:
        let_go.set()
        transition.disconnect(wait)
        future.result(30)


def ids(runs):
    return [run.id for run in runs]


LIMITS = [{}, {"fair": True}, {"worker_concurrency": 9}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_claim_takes_none_of_the_rows_that_another_holds(race, limits):
    QueueFactory(name="q", **limits)
    handles = echo.using(queue="q").enqueue_many([((n,), {}) for n in range(4)])
    with claim_held_open(race, "q", slots=2) as first:
        second = claim("q", slots=4)
    assert sorted(ids(first.result()) + ids(second)) == sorted(handle.id for handle in handles)
    assert not set(ids(first.result())) & set(ids(second))


def test_the_last_row_goes_to_one(race):
    echo.enqueue()
    with race.holding(claim_the_head) as first:
        second = race.side().do(claim_the_head)
    assert (len(first), len(second)) == (1, 0)


def test_a_claim_that_was_taken_back_leaves_its_rows_to_the_next(race):
    run = echo.enqueue()
    with race.holding(claim_the_head, commits=False):
        assert race.side().do(claim_the_head) == []
    assert ids(claim_the_head()) == [run.id]
    assert run.record.claims == 1


@pytest.mark.parametrize(
    "limits",
    [{"concurrency": 2}, {"partition_concurrency": 2}, {"rate_limit": 2, "rate_period": "01:00"}],
    ids=str,
)
def test_a_budget_of_the_queue_is_counted_by_one_claim_at_a_time(race, limits):
    QueueFactory(name="q", **limits)
    echo.using(queue="q", partition_key="p").enqueue_many([((n,), {}) for n in range(6)])
    with claim_held_open(race, "q", slots=1) as first:
        assert race.side().do(claim, "q", 5) == []  # a peer is at work: nobody counts beside it
    second = claim("q", slots=5)
    assert (len(first.result()), len(second)) == (1, 1)
    assert WorkflowStatus.objects.filter(status=Status.PENDING).count() == 2


def test_a_limit_key_is_counted_by_one_claim_at_a_time_over_all_queues(race):
    LimitFactory(key="stripe", max_running=2)
    for name in ("a", "b"):
        QueueFactory(name=name)
        echo.using(queue=name, limit_key="stripe").enqueue_many([((n,), {}) for n in range(3)])
    free = echo.using(queue="b").enqueue()
    with claim_held_open(race, "a", slots=1) as first:
        peer = Claimer(ExecutorFactory.create().id, USING)
        taken = [
            peer.claim("b", 5).runs for _ in range(2)
        ]  # a key is held elsewhere: the next looks behind it
        assert [run.id for runs in taken for run in runs] == [free.id]
    second = claim("b", slots=5)
    assert (len(first.result()), len(second)) == (1, 1)
    assert claim("a") == []


def test_many_claims_at_once_take_every_row_once(race):
    handles = echo.enqueue_many([((n,), {}) for n in range(300)])
    gate = threading.Barrier(6)

    def drain():
        gate.wait(30)
        taken = []
        while runs := claim(slots=7):
            taken += ids(runs)
        return taken

    taken = [run for side in race.at_once([drain] * 6) for run in side]
    assert sorted(taken) == sorted(handle.id for handle in handles)


def test_a_pause_that_is_not_committed_yet_holds_up_no_claim_and_none_comes_after_it(race):
    echo.enqueue_many([((), {})] * 2)
    with race.holding(Queue.objects.filter(name="default").pause):
        assert len(race.side().do(claim, slots=1)) == 1
    assert claim() == []
