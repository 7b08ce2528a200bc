"""A superseded execution writes no message, event, stream entry, child, timer or verb, however it tries."""

from __future__ import annotations

import pytest

from django_durable import (
    control,
    gather,
    recv,
    send,
    set_event,
    sleep,
    step,
    wait_first,
    workflow,
    write_stream,
)
from django_durable.core.outcomes import Overtaken
from django_durable.engine import transitions
from django_durable.engine.declared import workflows
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.engine.handle import Handle
from django_durable.models import Event, EventHistory, Message, StepOutput, StreamEntry, WorkflowStatus
from tests.factories import WorkflowFactory
from tests.races.executions import USING, claim, owner, recover
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)


@step
def publishes():
    set_event("from a step", 1)


@step(max_attempts=2, interval=3600, max_interval=3600)
def fails():
    raise ValueError


CALLS = {
    "send": lambda: send("bystander", "from a zombie"),
    "recv": lambda: recv("waiting"),
    "recv with a timeout": lambda: recv("nothing", timeout=3600),
    "sleep": lambda: sleep(3600),
    "set_event": lambda: set_event("key", 1),
    "set_event in a step": lambda: publishes(),
    "write_stream": lambda: write_stream("log", 1),
    "enqueue": lambda: echo.enqueue(1),
    "enqueue_many": lambda: echo.enqueue_many([((1,), {})]),
    "child": lambda: echo(1),
    "result": lambda: Handle("bystander").result(),
    "gather": lambda: gather(Handle("bystander")),
    "wait_first": lambda: wait_first(Handle("bystander")),
    "cancel of another": lambda: control.cancel(["other"]),
    "fork of another": lambda: control.fork(["bystander"]),
    "edit of another": lambda: control.set_attributes(["bystander"], {"zombie": True}),
    "a long retry": lambda: fails(),
    "a wait": lambda: recv("nothing"),
}
SUPERSEDED = {
    "recovered": lambda run: recover(owner(run)),
    "claimed again": lambda run: (recover(owner(run)), claim("zombies")),
    "cancelled": lambda run: transitions.cancel([run.id], using=USING),
}


@pytest.fixture
def world():
    WorkflowFactory.create(id="bystander", output="1")
    WorkflowFactory.create(id="other", status="DELAYED")


def everything():
    tables = (WorkflowStatus, StepOutput, Message, Event, EventHistory, StreamEntry)
    return [sorted(map(repr, table.objects.values())) for table in tables]


@pytest.mark.parametrize("how", SUPERSEDED)
@pytest.mark.parametrize("call", CALLS)
def test_a_superseded_execution_changes_nothing(world, how, call):
    seen = []

    def body():
        SUPERSEDED[how](run)
        seen.append(everything())
        CALLS[call]()

    declared = workflow(name="zombie", queue="zombies")(body)
    try:
        from django_durable.models import Queue

        Queue.objects.create(name="zombies")
        declared.using(id="zombie").enqueue()
        send("zombie", "for its successor", "waiting")
        (run,) = claim("zombies")
        outcome = Runner(DirectRecorder(USING), USING).run(run)
    finally:
        workflows.remove(declared.declaration)
    assert isinstance(outcome, Overtaken)
    assert everything() == seen[0]
