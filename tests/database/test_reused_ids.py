"""A run that was cancelled, deleted and enqueued anew under its id while its old body still runs."""

from __future__ import annotations

import pytest

from django_durable import control, recv, set_event, sleep, step, workflow, workflow_id, write_stream
from django_durable.core.options import Options
from django_durable.core.states import Status
from django_durable.engine import transitions
from django_durable.engine.launching import launcher
from django_durable.models import Event, EventHistory, Message, StepOutput, StreamEntry, WorkflowStatus
from tests.testapp.models import Ledger
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db


@step
def plain():
    return 1


@step(atomic=True)
def booked():
    Ledger.objects.create(run_id="old", step="booked")


@step
def telling():
    set_event("from a step", 1)


CALLS = {
    "a step": plain,
    "an atomic step": booked,
    "an event": lambda: set_event("e", 1),
    "an event from a step": telling,
    "a stream": lambda: write_stream("s", 1),
    "a child": lambda: echo.enqueue(1),
    "a child awaited": lambda: echo(1),
    "a message": lambda: control.handle(workflow_id()).status and recv("t", timeout=100),
    "a sleep": lambda: sleep(100),
    "a verb": lambda: control.set_priority([workflow_id() or ""], 9),
    "an end": lambda: None,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_old_body_leaves_nothing_on_the_new_run(drain, call):
    @workflow(name="old")
    def body():
        transitions.cancel([run.id], using="default")
        transitions.delete([run.id], using="default")
        launcher.enqueue("old", Options(id=run.id, queue="elsewhere"), ((), {}))
        call()
        return "old"

    run = body.using(id="order-1").enqueue()
    (claimed,) = drain.claim()
    drain.run(claimed)
    row = WorkflowStatus.objects.get()
    assert (row.status, row.priority, row.output) == (Status.ENQUEUED, 0, None)
    for table in (StepOutput, Event, EventHistory, StreamEntry, Message, Ledger):
        assert not table.objects.exists(), table
