"""kill -9 at every durable call of a body that makes them all: each call is there once, as if nothing was."""

from __future__ import annotations

from collections import Counter

from django_durable import retrieve
from django_durable.core.states import Status
from django_durable.models import EventHistory, Message, StreamEntry, WorkflowStatus
from tests.lifecycle.workers import until
from tests.testapp.matrix_workflows import ASYNC_MOMENTS, MOMENTS, everything, everything_async, helper
from tests.testapp.models import Ledger, Probe

WORKERS = 3
ASYNC_RESULT = [None, ["trace", 1, None, None], [None, None], 2, [[4, 6], True], ["to myself", None], None]
TO_THE_OWN_MAIL = [None, "trace", 1, None, None, None, None, None, 2, 2, [4, 6], True, "to myself", None, 1]
RESULT = [*TO_THE_OWN_MAIL, ["helper"], 1, None, "SUCCESS", 4, True, 2, [8, 10]]


def test_a_kill_at_every_durable_call_changes_nothing(start):
    post = helper.using(id="helper", queue="helpers").enqueue()
    runs = {everything.enqueue(post.id, moment).id: moment for moment in MOMENTS}
    keep_alive(start, lambda: settled(runs))

    assert statuses(runs) == {Status.SUCCESS: len(runs)}
    assert {run for run in runs if Probe.hits(run, runs[run], "killed")} == set(runs)
    for run, moment in runs.items():
        check(run, moment)


def test_a_kill_at_every_durable_call_of_an_async_body_changes_nothing(start):
    post = helper.using(id="helper", queue="helpers").enqueue()
    runs = {everything_async.enqueue(post.id, moment).id: moment for moment in ASYNC_MOMENTS}
    keep_alive(start, lambda: settled(runs))

    assert statuses(runs) == {Status.SUCCESS: len(runs)}
    assert {run for run in runs if Probe.hits(run, runs[run], "killed")} == set(runs)
    for run, moment in runs.items():
        assert retrieve(run).result() == ASYNC_RESULT, moment
        assert Probe.hits(run, "trace") == 1 + (moment == "inside trace")
        assert Ledger.objects.filter(run_id=run).count() == 1
        assert Message.objects.filter(workflow_id="helper", payload__contains=run).count() == 1
        assert StreamEntry.objects.filter(workflow_id=run).count() == 1
        assert WorkflowStatus.objects.filter(parent_id=run).count() == 3


def keep_alive(start, is_over):
    """Put a worker in the place of each that is killed; one slot, so that a kill hits no other run."""
    workers = [start("--slots=1", DURABLE_SUSPEND_AFTER="0.1") for _ in range(WORKERS)]

    def go_on():
        for index, worker in enumerate(workers):
            if not worker.is_running:
                workers[index] = start("--slots=1", DURABLE_SUSPEND_AFTER="0.1")
        return is_over()

    until(go_on, seconds=100)


def check(run, moment):
    found = retrieve(run).result()
    assert found == RESULT, moment
    again = moment == "inside trace"
    is_in_flight = moment == "traced"  # its record may be on its way to the disk when the worker dies
    assert 1 + again <= Probe.hits(run, "trace") <= 1 + again + is_in_flight
    assert Ledger.objects.filter(run_id=run).count() == 1
    assert Message.objects.filter(workflow_id="helper", payload__contains=run).count() == 1
    assert list(Message.objects.filter(workflow_id=run).values_list("topic", flat=True)) == ["own"]
    assert StreamEntry.objects.filter(workflow_id=run).count() == 2
    assert EventHistory.objects.filter(workflow_id=run).count() == 1
    children = WorkflowStatus.objects.filter(parent_id=run)
    assert children.count() == 5
    assert WorkflowStatus.objects.filter(forked_from__in=children.values("id")).count() == 1


def settled(runs):
    return set(statuses(runs)) <= {Status.SUCCESS, Status.ERROR, Status.CANCELLED}


def statuses(runs):
    found = WorkflowStatus.objects.filter(id__in=runs).values_list("status", flat=True)
    return dict(Counter(found))
