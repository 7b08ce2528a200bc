"""A body that cancels its own run with others, or with the runs it started: the others first, then itself."""

from __future__ import annotations

import pytest

from django_durable import control, recv, workflow, workflow_id
from django_durable.core.states import Status
from django_durable.models import StepOutput
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def waits():
    @workflow(name="waits")
    def waits():
        recv("never")

    return waits


def cancels(ids, **options):
    """A workflow whose body cancels the runs that `ids` names when it is called there."""

    @workflow(name="cancels")
    def body():
        control.cancel(ids(), reason="enough", **options)
        raise AssertionError("it went on")

    return body


def acancels(ids, **options):
    @workflow(name="acancels")
    async def body():
        await control.acancel(ids(), reason="enough", **options)
        raise AssertionError("it went on")

    return body


@pytest.mark.parametrize("make", [cancels, acancels])
@pytest.mark.parametrize("order", [1, -1])
def test_a_body_that_cancels_others_and_itself_cancels_them_and_ends(drain, waits, make, order):
    other = waits.enqueue()
    drain()
    run = make(lambda: [other.id, workflow_id()][::order]).enqueue()
    drain()
    assert (other.status, run.status) == (Status.CANCELLED, Status.CANCELLED)
    assert "enough" in other.record.error
    assert "enough" in run.record.error
    assert StepOutput.objects.get(workflow_id=run.id).name == "durable.cancel"


def test_what_has_ended_before_does_not_keep_a_body_from_cancelling_itself(drain):
    ended = WorkflowFactory.create(status=Status.SUCCESS)
    run = cancels(lambda: [ended.id, workflow_id()]).enqueue()
    drain()
    assert run.status == Status.CANCELLED


@pytest.mark.parametrize("door", ["handle", "control"])
def test_a_body_that_cancels_itself_with_its_children_takes_them_with_it(drain, waits, door):
    children = []

    @workflow(name="parent")
    def parent():
        children.append(waits.enqueue())
        if door == "handle":
            control.handle(workflow_id()).cancel("enough", cascade=True)
        control.cancel([workflow_id() or ""], reason="enough", cascade=True)

    run = parent.enqueue()
    drain()
    assert (run.status, children[0].status) == (Status.CANCELLED, Status.CANCELLED)
    assert "enough" in children[0].record.error


def test_a_child_that_cancels_its_parent_with_all_its_children_ends_with_them(drain, waits):
    siblings = []
    child = cancels(lambda: [control.handle(workflow_id()).record.parent_id or ""], cascade=True)

    @workflow(name="parent")
    def parent():
        siblings.append(waits.enqueue())
        siblings.append(child.enqueue())
        recv("never")

    run = parent.enqueue()
    drain()
    assert [each.status for each in (run, *siblings)] == [Status.CANCELLED] * 3


def test_a_resumed_body_that_cancelled_itself_and_others_leaves_the_others_to_their_new_life(drain, waits):
    other = waits.enqueue()
    drain()
    run = cancels(lambda: [other.id, workflow_id()]).enqueue()
    drain()
    other.resume()
    run.resume()
    drain()
    assert (run.status, other.status) == (Status.CANCELLED, Status.WAITING)
    assert StepOutput.objects.filter(workflow_id=run.id).count() == 1
