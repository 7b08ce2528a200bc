"""The async twins of what is called by name, looked up, listed and turned; and what an async body is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from asgiref.sync import async_to_sync

from django_durable import (
    aenqueue_by_name,
    arecv,
    aretrieve,
    control,
    enqueue_by_name,
    retrieve,
    send,
    step,
    workflow,
)
from django_durable.core.states import Status
from django_durable.exceptions import AwaitNeeded, InsideWorkflow, WorkflowNotFound
from django_durable.models import AppVersion, Queue, StepOutput, WorkflowStatus
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def names_of(run):
    return list(StepOutput.objects.filter(workflow_id=run.id).order_by("step").values_list("name", flat=True))


@pytest.fixture
def other():
    @workflow(name="other")
    def other(number=0):
        return number

    return other


def test_an_async_body_enqueues_a_workflow_by_its_name_once(drain, other):
    @workflow(name="parent")
    async def parent():
        child = await aenqueue_by_name("other", 3)
        await arecv("go")
        return await child.aresult()

    run = parent.enqueue()
    drain()
    send(run.id, None, "go")
    drain()
    drain()
    assert run.result() == 3
    assert WorkflowStatus.objects.get(name="other").parent_id == run.id
    assert names_of(run)[0] == "durable.enqueue"


def test_an_async_body_looks_a_run_up_and_remembers_that_it_was_there(drain):
    target = WorkflowFactory.create(status=Status.SUCCESS).id

    @workflow(name="looks")
    async def looks():
        found = await aretrieve(target)
        await arecv("go")
        return found.id

    run = looks.enqueue()
    drain()
    control.delete(target)
    send(run.id, None, "go")
    drain()
    assert run.result() == target
    assert names_of(run)[0] == "durable.status"


def test_a_view_calls_the_twins(other):
    AppVersion.objects.create(name="v1", registered_at=LONG_AGO, promoted_at=LONG_AGO)

    async def view():
        run = await aenqueue_by_name("other")
        assert await aretrieve(run.id) == run
        assert (await run.arecord()).name == "other"
        assert [row.id for row in await control.alist_workflows(name="other")] == [run.id]
        assert await control.acounts(by="status") == {Status.ENQUEUED: 1}
        assert (await control.apause("default"), await control.aunpause("default")) == (1, 1)
        await control.aset_latest_version("v1")
        with pytest.raises(WorkflowNotFound):
            await aretrieve("nobody")
        with pytest.raises(Queue.DoesNotExist):
            await control.apause("nowhere")

    async_to_sync(view)()
    assert AppVersion.objects.get().promoted_at > LONG_AGO


def test_an_async_body_turns_queues_and_versions_in_recorded_steps(drain):
    AppVersion.objects.create(name="v1", registered_at=LONG_AGO, promoted_at=LONG_AGO)
    Queue.objects.create(name="mail")

    @workflow(name="turns")
    async def turns():
        turned = [await control.apause("mail"), await control.aunpause("mail")]
        await control.aset_latest_version("v1")
        return turned

    run = turns.enqueue()
    drain("default")
    assert run.result() == [1, 1]
    assert names_of(run) == ["durable.pause", "durable.unpause", "durable.set_latest_version"]


@pytest.mark.parametrize("door", [control.alist_workflows, control.acounts])
def test_an_async_body_may_not_list_what_a_replay_would_see_otherwise(drain, door):
    @workflow(name="lists")
    async def lists():
        try:
            await door()
        except InsideWorkflow as error:
            return str(error)

    run = lists.enqueue()
    drain()
    assert "call it in a step" in run.result()


def test_what_an_async_body_is_told_to_await_exists(drain, other):
    @step(name="billing/charge")
    def charge():
        return 1

    there = WorkflowFactory.create(status=Status.SUCCESS).id
    handle = control.handle(there)
    calls = {
        "other.acall()": lambda: other(),
        "charge.acall()": lambda: charge(),
        "aenqueue()": lambda: other.enqueue(),
        "aenqueue_many()": lambda: other.enqueue_many([]),
        "aenqueue_by_name()": lambda: enqueue_by_name("other"),
        "aretrieve()": lambda: retrieve(there),
        "astatus()": lambda: handle.status,
        "aresult()": lambda: handle.result(),
        "adelete()": lambda: handle.delete(),
        "apause()": lambda: control.pause("default"),
        "aset_latest_version()": lambda: control.set_latest_version("v1"),
    }

    @workflow(name="blocks")
    async def blocks():
        told = {}
        for expected, call in calls.items():
            try:
                call()
            except AwaitNeeded as error:
                told[expected] = str(error)
        return told

    run = blocks.enqueue()
    drain()
    told = run.result()
    assert [expected for expected in calls if f"`await {expected}`" not in told.get(expected, "")] == []
    assert names_of(run) == []
