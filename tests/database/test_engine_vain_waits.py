"""Bodies that wait for what is not there, or can never come: told at once, and the same at every replay."""

from __future__ import annotations

from typing import Any

import pytest

from django_durable import (
    agather,
    control,
    gather,
    get_event,
    recv,
    retrieve,
    send,
    set_event,
    sleep,
    wait_first,
    workflow,
    workflow_id,
)
from django_durable.core.states import Status
from django_durable.exceptions import WorkflowNotFound
from django_durable.models import StepOutput, WorkflowStatus

pytestmark = pytest.mark.django_db

LOOKS = {
    "gather": lambda: gather(control.handle("late")),
    "gather of two": lambda: gather(control.handle("there"), control.handle("late")),
    "gather with exceptions": lambda: str(gather(control.handle("late"), return_exceptions=True)),
    "wait_first": lambda: wait_first(control.handle("late")).id,
    "status": lambda: control.handle("late").status,
    "retrieve": lambda: retrieve("late").id,
    "result": lambda: control.handle("late").result(),
    "get_event": lambda: get_event("late", "key"),
}


@pytest.fixture
def answers():
    """Answers at once, and publishes."""

    @workflow(name="answers")
    def answers():
        set_event("other", 1)
        return "there"

    return answers


@pytest.mark.parametrize("look", LOOKS)
def test_a_run_that_appears_later_was_not_there_for_a_replay_either(drain, answers, look):
    said = []

    @workflow(name="looks")
    def looks():
        try:
            said.append(str(LOOKS[look]()))
        except WorkflowNotFound as missing:
            said.append(str(missing))
        recv("go on")

    answers.using(id="there").enqueue()
    run = looks.enqueue()
    drain()
    answers.using(id="late").enqueue()
    drain()
    send(run.id, None, "go on")
    drain()
    assert run.status == Status.SUCCESS
    assert said[0] == said[1]
    assert "late" in said[0]
    assert StepOutput.objects.get(workflow_id=run.id, name="durable.recv").step > 1


def test_a_retry_of_the_whole_looks_for_the_run_again(drain, answers):
    @workflow(name="gathers")
    def gathers():
        return gather(control.handle("there"), control.handle("late"))

    answers.using(id="there").enqueue()
    run = gathers.enqueue()
    drain()
    assert run.status == Status.ERROR
    answers.using(id="late").enqueue()
    run.retry()
    drain()
    assert run.result() == ["there", "there"]


def test_gather_outside_hands_a_missing_run_over_if_asked_to(answers):
    (error,) = gather(control.handle("nobody"), return_exceptions=True)
    assert isinstance(error, WorkflowNotFound)
    with pytest.raises(WorkflowNotFound):
        gather(control.handle("nobody"))


def as_a_child_of_itself():
    itself, *_ = [each for each in _declared if each.name == "waits"]
    return itself.using(id=workflow_id())()


_declared: list[Any] = []
FOR_ITSELF = {
    "result": lambda: control.handle(workflow_id()).result(),
    "gather": lambda: gather(control.handle("there"), control.handle(workflow_id())),
    "wait_first": lambda: wait_first(control.handle(workflow_id())),
    "child": as_a_child_of_itself,
}


@pytest.mark.parametrize("how", FOR_ITSELF)
def test_a_body_that_waits_for_its_own_end_is_told(drain, answers, how):
    @workflow(name="waits")
    def waits():
        return FOR_ITSELF[how]()

    _declared[:] = [waits]
    answers.using(id="there").enqueue()
    run = waits.enqueue()
    drain()
    assert run.status == Status.ERROR
    assert "its own result" in run.record.error


def test_an_async_body_that_gathers_itself_is_told(drain):
    @workflow(name="waits")
    async def waits():
        return await agather(control.handle(workflow_id()))

    run = waits.enqueue()
    drain()
    assert "its own result" in run.record.error


@pytest.mark.parametrize("ended", [True, False], ids=["has ended", "ends later"])
def test_an_event_that_its_run_never_set_is_none_once_the_run_has_ended(drain, ended):
    @workflow(name="publishes")
    def publishes():
        recv("end")
        set_event("other", 1)

    @workflow(name="watches")
    def watches(target):
        return [get_event(target, "other"), get_event(target, "never")]

    publisher = publishes.enqueue()
    watcher = watches.enqueue(publisher.id)
    if not ended:
        drain()
        assert watcher.status == Status.WAITING
    send(publisher.id, None, "end")
    drain()
    drain()
    assert watcher.result() == [1, None]


def test_a_cancelled_publisher_wakes_who_waits_for_its_event(drain):
    @workflow(name="publishes")
    def publishes():
        sleep(3600)

    @workflow(name="watches")
    def watches(target):
        return get_event(target, "never")

    publisher = publishes.enqueue()
    watcher = watches.enqueue(publisher.id)
    drain()
    publisher.cancel()
    drain()
    assert watcher.result() is None
    assert not WorkflowStatus.objects.filter(status=Status.WAITING).exists()
