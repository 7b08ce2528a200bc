"""A worker that is frozen, or loses its connections, or its database: who may write, and what goes on."""

from __future__ import annotations

import signal
from functools import partial

import pytest

from django_durable.core.states import Status
from django_durable.models import Queue, StepOutput, WorkflowStatus
from tests.lifecycle.workers import WorkerProcess, are_all, hits, open_gate, terminate_backends, until
from tests.testapp.lifecycle_workflows import gated, gated_books, six_steps
from tests.testapp.models import Ledger, Probe


def entered() -> int:
    return Probe.objects.filter(ev="enter").count()


@pytest.mark.parametrize("workflow", [gated, gated_books], ids=["plain step", "atomic step"])
def test_a_worker_that_was_frozen_past_its_lease_writes_nothing_any_more(start, workflow):
    run = workflow.enqueue("g")
    zombie = start("--slots=1")
    until(lambda: entered() == 1)
    zombie.send(signal.SIGSTOP)
    successor = start("--slots=1")
    until(lambda: entered() == 2)
    token = run.record.claim_token
    steps = StepOutput.objects.count()
    zombie.send(signal.SIGCONT)
    zombie.says("taken for lost")
    open_gate("g")
    zombie.says(r"superseded: its outcome is not written")
    until(are_all(Status.SUCCESS))
    assert run.record.claims == 2
    assert token is not None
    assert steps == (1 if workflow is gated else 0)
    assert hits().get((run.id, "behind"), 0) + Ledger.objects.filter(run_id=run.id).count() == 1
    assert "1 claimed, 1 succeeded" in _last_words(successor)
    assert "1 claimed, 1 superseded" in _last_words(zombie)


def test_a_frozen_worker_goes_on_as_a_new_executor(start):
    gated.enqueue("g")
    zombie = start("--slots=2")
    until(lambda: entered() == 1)
    former = zombie.executor().id
    zombie.send(signal.SIGSTOP)
    start("--slots=1")
    until(lambda: entered() == 2)
    zombie.send(signal.SIGCONT)
    zombie.says("taken for lost")
    assert zombie.executor().id != former
    second = gated.enqueue("g")
    until(lambda: WorkflowStatus.objects.filter(pk=second.id, executor__pid=zombie.pid).exists())
    open_gate("g")
    until(are_all(Status.SUCCESS))


def test_connections_cut_again_and_again_lose_and_double_nothing(start):
    runs = [handle.id for handle in six_steps.enqueue_many([((), {})] * 60)]
    worker = start("--slots=4")
    for moment in (5, 40, 80, 120, 160, 200):
        until(partial(_has_traces, moment))
        assert terminate_backends(worker) > 0
    until(are_all(Status.SUCCESS))
    assert worker.is_running
    assert sorted(Ledger.objects.values_list("run_id", "step")) == sorted(
        (run, place) for run in runs for place in ("two", "five")
    )
    assert {claims for (claims,) in WorkflowStatus.objects.values_list("claims")} == {1}
    assert StepOutput.objects.filter(error__isnull=False).count() == 0
    assert worker.stop() == 0
    assert "Traceback" not in worker.lines


def test_an_idle_worker_whose_connections_were_cut_works_on(start):
    worker = start().says("registered")
    until(lambda: len(worker.backends()) >= 4)
    terminate_backends(worker)
    run = six_steps.enqueue()
    until(lambda: run.status == Status.SUCCESS)
    assert worker.stop() == 0
    assert "Traceback" not in worker.lines


def test_a_limit_holds_while_a_killed_worker_is_replaced(start):
    """B028: what it ran counts until it is taken over, so no two run together at any moment."""
    Queue.objects.filter(pk="default").update(concurrency=1)
    gated.enqueue_many([(("g",), {})] * 3)
    victim = start("--slots=3")
    until(lambda: entered() == 1)
    victim.kill()
    for _ in range(3):
        start("--slots=3")
    until(lambda: entered() == 2)
    open_gate("g")
    until(are_all(Status.SUCCESS))
    events = Probe.objects.filter(step="gate").order_by("at", "id").values_list("ev", flat=True)
    assert list(events) == ["enter"] + ["enter", "exit"] * 3


def test_recovery_needs_no_free_slot(start):
    """B063: the limit is filled by what a killed worker ran."""
    Queue.objects.filter(pk="default").update(concurrency=2)
    gated.enqueue_many([(("g",), {})] * 6)
    victim = start("--slots=2")
    until(lambda: entered() == 2)
    victim.kill()
    open_gate("g")
    start("--slots=1")
    until(are_all(Status.SUCCESS))


def _has_traces(count: int) -> bool:
    return Probe.objects.count() >= count


def _last_words(worker: WorkerProcess) -> str:
    assert worker.stop() == 0
    return worker.lines
