"""Several processes under one command."""

from __future__ import annotations

import os
import signal

from django_durable.core.states import Status
from django_durable.models import Executor, WorkflowStatus
from tests.lifecycle.workers import are_all, open_gate, until
from tests.testapp.lifecycle_workflows import gated, six_steps
from tests.testapp.models import Probe


def pids() -> set[int]:
    return set(Executor.objects.alive().values_list("pid", flat=True))


def test_a_killed_child_is_replaced_and_its_work_taken_over(start):
    runs = gated.enqueue_many([(("g",), {})] * 2)
    parent = start("--processes=2", "--slots=1")
    until(lambda: Probe.objects.filter(ev="enter").count() == 2)
    first = pids()
    assert len(first) == 2
    assert parent.pid not in first
    victim = WorkflowStatus.objects.get(pk=runs[0].id).executor
    assert victim is not None
    os.kill(victim.pid, signal.SIGKILL)
    parent.says(r"worker \d+ died \(-9\)")
    until(lambda: len(pids() - first) == 1)
    open_gate("g")
    until(are_all(Status.SUCCESS))
    assert parent.stop() == 0
    assert parent.lines.count("given back") == 2
    assert not Executor.objects.exists()


def test_children_that_took_as_much_as_they_may_are_replaced(start):
    six_steps.enqueue_many([((), {})] * 12)
    parent = start("--processes=2", "--slots=1", "--max-tasks=3")
    until(are_all(Status.SUCCESS))
    parent.says("ended as it should")
    assert parent.stop() == 0


def test_a_burst_of_several_ends_when_all_have_ended(start):
    six_steps.enqueue_many([((), {})] * 12)
    assert start("--processes=2", "--burst").wait() == 0
    assert are_all(Status.SUCCESS)()


def test_children_end_when_their_parent_is_gone(start):
    parent = start("--processes=2")
    until(lambda: len(pids()) == 2)
    os.kill(parent.pid, signal.SIGKILL)
    until(lambda: not Executor.objects.exists())
    until(lambda: not parent.backends())


def test_a_second_signal_ends_all_at_once(start):
    gated.enqueue_many([(("g",), {})] * 2)
    parent = start("--processes=2", "--slots=1", "--shutdown-timeout=60")
    until(lambda: Probe.objects.filter(ev="enter").count() == 2)
    parent.send(signal.SIGTERM)
    until(lambda: parent.lines.count("stopping: 1 workflows") == 2)
    parent.send(signal.SIGTERM)
    assert parent.wait() == 143
    assert set(WorkflowStatus.objects.values_list("status", "claims")) == {(Status.ENQUEUED, 0)}
