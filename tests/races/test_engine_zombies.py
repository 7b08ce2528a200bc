"""A superseded execution writes no message, event, stream entry, child, timer or verb, however it tries."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from django_durable import (
    close_stream,
    control,
    enqueue_by_name,
    gather,
    recv,
    send,
    send_many,
    set_event,
    sleep,
    step,
    wait_first,
    workflow,
    write_stream,
)
from django_durable.core.outcomes import Completed, Overtaken
from django_durable.engine import transitions
from django_durable.engine.declared import workflows
from django_durable.engine.execution.ownership import guarded
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.engine.handle import Handle
from django_durable.models import Event, EventHistory, Message, StepOutput, StreamEntry, WorkflowStatus
from tests.factories import WorkflowFactory
from tests.races.executions import USING, claim, owner, recover
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)


@step(max_attempts=2, interval=3600, max_interval=3600)
def fails():
    raise ValueError


@step
def does(call):
    call()


IN_A_STEP = {
    "send": lambda: send("bystander", "from a zombie"),
    "send_many": lambda: send_many(["bystander", "other"], "from a zombie"),
    "enqueue": lambda: echo.enqueue(1),
    "enqueue with an id": lambda: echo.using(id="of a zombie").enqueue(1),
    "enqueue by name": lambda: enqueue_by_name("elsewhere"),
    "enqueue_many": lambda: echo.enqueue_many([((1,), {})]),
    "start": lambda: echo.start(1),
    "debounce": lambda: echo.debounce("key", 60).enqueue(1),
    "set_event": lambda: set_event("key", 1),
    "write_stream": lambda: write_stream("log", 1),
    "close_stream": lambda: close_stream("log"),
    "cancel of another": lambda: control.cancel(["other"]),
    "cancel by a handle": lambda: Handle("other").cancel(cascade=True),
    "fork of another": lambda: control.fork(["bystander"]),
    "rewind of another": lambda: control.rewind(["bystander"], to_step=1),
    "delay of another": lambda: control.set_delay(["other"], delay=1),
    "deletion of another": lambda: control.delete(["bystander"]),
}
CALLS = {
    "send": lambda: send("bystander", "from a zombie"),
    "recv": lambda: recv("waiting"),
    "recv with a timeout": lambda: recv("nothing", timeout=3600),
    "sleep": lambda: sleep(3600),
    "set_event": lambda: set_event("key", 1),
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
    **{f"{name}, in a step": partial(does, call) for name, call in IN_A_STEP.items()},
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


def test_steps_that_change_each_others_runs_at_once_are_both_done(race):
    """Each holds its own row and asks for the other's: a deadlock, which PostgreSQL ends for one of them."""
    meeting, met = threading.Barrier(2), set()

    def change(own, other):
        if own not in met:
            met.add(own)
            meeting.wait(30)
        control.set_attributes([other], {"by": own})

    def body(own, other):
        does(lambda: guarded(lambda: change(own, other)))

    declared = workflow(name="zombie")(body)
    try:
        for own, other in (("a", "b"), ("b", "a")):
            declared.using(id=own).enqueue(own, other)
        runs = claim()
        sides = [race.side().start(Runner(DirectRecorder(USING), USING).run, run) for run in runs]
        outcomes = [side.result(60) for side in sides]
    finally:
        workflows.remove(declared.declaration)
    assert all(isinstance(outcome, Completed) for outcome in outcomes)
    found = dict(WorkflowStatus.objects.filter(pk__in="ab").values_list("id", "attributes"))
    assert found == {"a": {"by": "b"}, "b": {"by": "a"}}
