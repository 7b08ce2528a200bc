"""How a worker ends when it is asked to: drained, given back, or at once; never counted as a failure."""

from __future__ import annotations

import signal
import time

import pytest

from django_durable.core.states import Status
from django_durable.models import Executor, WorkflowStatus
from tests.lifecycle.workers import LEASE, are_all, hits, open_gate, until
from tests.testapp.lifecycle_workflows import gated, six_steps
from tests.testapp.models import Probe

STORM = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5]


def entered() -> int:
    return Probe.objects.filter(ev="enter").count()


def columns(*names: str) -> list[tuple[object, ...]]:
    """Of all runs, in line order."""
    return list(WorkflowStatus.objects.order_by("seq").values_list(*names))


def test_term_lets_what_runs_run_to_its_end_and_claims_no_more(start):
    gated.enqueue_many([(("g",), {})] * 5)
    worker = start("--slots=2")
    until(lambda: entered() == 2)
    worker.send(signal.SIGTERM)
    worker.says("stopping: 2 workflows")
    open_gate("g")
    assert worker.wait() == 0
    assert [status for (status,) in columns("status")] == [Status.SUCCESS] * 2 + [Status.ENQUEUED] * 3
    assert [claims for (claims,) in columns("claims")] == [1, 1, 0, 0, 0]
    assert not Executor.objects.exists()
    assert "5 claimed" not in worker.lines
    assert "2 claimed, 2 succeeded, 0 given back" in worker.lines


def test_what_is_not_done_in_time_goes_back_to_its_place_and_its_claim_does_not_count(start):
    gated.enqueue_many([(("g",), {})] * 4)
    places = columns("id", "seq", "line")
    worker = start("--slots=2", "--shutdown-timeout=0.5")
    until(lambda: entered() == 2)
    assert worker.stop() == 0
    assert columns("id", "seq", "line") == places
    assert set(columns("status", "claims", "attempt", "claim_token", "executor", "started_at")) == {
        (Status.ENQUEUED, 0, 0, None, None, None)
    }
    assert not Executor.objects.exists()
    open_gate("g")
    assert start("--burst").wait() == 0
    assert are_all(Status.SUCCESS)()
    assert {count for (_, place), count in hits().items() if place == "before"} == {1}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_gives_back_at_once(start, number, code):
    gated.enqueue("g")
    worker = start("--shutdown-timeout=60")
    until(lambda: entered() == 1)
    worker.send(number)
    worker.says("stopping: 1 workflows")
    began = time.monotonic()
    worker.send(number)
    assert worker.wait() == code
    assert time.monotonic() - began < 5
    assert columns("status", "claims") == [(Status.ENQUEUED, 0)]


def test_the_lease_is_renewed_as_long_as_a_drain_takes(start):
    gated.enqueue("g")
    first = start("--shutdown-timeout=60")
    until(lambda: entered() == 1)
    second = start().says("registered")
    first.send(signal.SIGTERM)
    first.says("stopping")
    renewed = first.executor().lease_expires_at
    until(lambda: (first.executor().lease_expires_at - renewed).total_seconds() > LEASE * 1.5)
    open_gate("g")
    assert first.wait() == 0
    assert second.stop() == 0
    assert "1 claimed, 1 succeeded" in first.lines
    assert "nothing claimed" in second.lines


def test_a_burst_ends_with_0_when_nothing_is_ready_and_nothing_runs(start):
    six_steps.enqueue_many([((), {})] * 12)
    later = six_steps.using(delay=3600).enqueue()
    assert start("--burst", "--slots=3").wait() == 0
    assert later.status == Status.DELAYED
    assert WorkflowStatus.objects.filter(status=Status.SUCCESS).count() == 12


def test_quit_tells_where_every_thread_is_and_ends_nothing(start):
    gated.enqueue("g")
    worker = start()
    until(lambda: entered() == 1)
    worker.send(signal.SIGQUIT)
    worker.says("thread durable-slot-1:(.|\n)*pass_gate").says("thread durable-poller:")
    open_gate("g")
    until(are_all(Status.SUCCESS))
    assert worker.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda s: s.name)
def test_a_stop_asked_for_at_any_moment_of_the_start_is_heard(start, number):
    """Before the command runs, the signal ends the interpreter by its default; then it is the worker's."""
    gated.enqueue("g")
    workers = []
    for delay in STORM[::3]:
        worker = start("--shutdown-timeout=0")
        time.sleep(delay)
        worker.send(number)
        workers.append(worker)
    for worker in workers:
        code = worker.wait(5)
        assert code in (0, -number) or (number == signal.SIGINT and code in (1, 130)), worker.lines
    assert columns("status", "claims") == [(Status.ENQUEUED, 0)]
