"""kill -9 at any moment: nothing lost, nothing doubled that was recorded, atomic steps exactly once."""

from __future__ import annotations

import pytest

from django_durable.core.states import Status
from django_durable.models import StepOutput
from tests.lifecycle.workers import are_all, hits, statuses, until
from tests.testapp.lifecycle_workflows import six_steps
from tests.testapp.models import Ledger, Probe

RUNS = 120
PLACES = ("one", "three", "four", "six")
MOMENTS = (1, 9, 23, 55, 90, 134, 180, 230, 280, 330)  # traces left of 480, at which the worker is killed


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_at_any_moment_loses_and_doubles_nothing(start, moment):
    runs = {handle.id for handle in six_steps.enqueue_many([((), {})] * RUNS)}
    victim = start("--slots=4")
    until(lambda: Probe.objects.count() >= moment)
    victim.kill()
    before, recorded = hits(), set(StepOutput.objects.values_list("workflow_id", "name", "step"))
    assert statuses().get(Status.SUCCESS, 0) < RUNS

    start("--slots=4")
    until(are_all(Status.SUCCESS))

    names = {1: "one", 3: "three", 4: "four", 6: "six"}
    done = {(run, names[number]) for run, _, number in recorded if number in names}
    wanted = {
        (run, place): before.get((run, place), 0) + ((run, place) not in done)
        for run in runs
        for place in PLACES
    }
    assert hits() == wanted
    assert sorted(Ledger.objects.values_list("run_id", "step")) == sorted(
        (run, place) for run in runs for place in ("two", "five")
    )
