"""An id is a promise: one run, of one function, whoever asks and however often."""

from __future__ import annotations

import pytest

from django_durable import Options, enqueue_by_name, retrieve, workflow
from django_durable.core.states import Status
from django_durable.engine.handle import Handle
from django_durable.exceptions import ConflictingWorkflow, WorkflowIDInUse, WorkflowNotFound
from django_durable.models import WorkflowStatus
from tests.drain import row
from tests.testapp.workflows import echo, two_steps

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("end", ["none", "success"])
def test_the_same_function_under_the_same_id_is_the_run_that_is_there_unchanged(drain, end):
    first = echo.using(id="a", priority=3).enqueue("first")
    if end == "success":
        drain()
    before = WorkflowStatus.objects.values().get()
    again = echo.using(id="a", priority=9, queue="other").enqueue("again", and_more=True)
    assert again == first
    assert WorkflowStatus.objects.values().get() == before
    drain()
    assert again.result() == "first"


@pytest.mark.parametrize("status", [Status.ENQUEUED, Status.SUCCESS])
def test_another_function_under_the_id_is_refused_and_the_transaction_stays_usable(drain, status):
    echo.using(id="a").enqueue("mine")
    if status == Status.SUCCESS:
        drain()
    before = WorkflowStatus.objects.values().get()
    with pytest.raises(ConflictingWorkflow) as refused:
        two_steps.using(id="a").enqueue()
    assert "'a'" in str(refused.value)
    assert "testapp.echo" in str(refused.value)
    assert "testapp.two_steps" in str(refused.value)
    assert WorkflowStatus.objects.values().get() == before
    two_steps.using(id="b").enqueue()
    assert WorkflowStatus.objects.count() == 2


def test_a_caller_that_wants_a_new_run_or_none_is_told(db):
    echo.using(id="a").enqueue()
    with pytest.raises(WorkflowIDInUse):
        echo.using(id="a", on_conflict="reject").enqueue()
    assert echo.using(id="b", on_conflict="reject").enqueue().id == "b"


def test_a_run_enqueued_by_an_alias_or_before_a_rename_is_a_run_of_the_function():
    @workflow(name="after", aliases=["before"])
    def body():
        pass

    old = enqueue_by_name("before")
    assert body.using(id=old.id).enqueue() == old


def test_a_run_enqueued_by_the_name_of_today_is_found_by_an_alias_and_by_no_other_name():
    @workflow(name="after", aliases=["before"])
    def body():
        pass

    run = body.enqueue()
    assert enqueue_by_name("before", options=Options(id=run.id)) == run
    with pytest.raises(ConflictingWorkflow):
        enqueue_by_name("testapp.echo", options=Options(id=run.id))
    with pytest.raises(ConflictingWorkflow):
        enqueue_by_name("unknown here", options=Options(id=run.id))


def test_a_run_under_an_alias_is_run_by_the_function(drain):
    @workflow(name="after", aliases=["before"])
    def body(value):
        return value

    run = enqueue_by_name("before", 1)
    drain()
    assert run.result() == 1


def test_ids_are_told_apart_by_case_and_unicode_form():
    for workflow_id in ("a", "A", "\u00e9", "e\u0301", "\u00c9"):
        echo.using(id=workflow_id).enqueue()
    assert WorkflowStatus.objects.count() == 5


def test_long_ids_that_begin_alike_are_two():
    for last in "ab":
        echo.using(id="x" * 254 + last).enqueue()
    assert WorkflowStatus.objects.count() == 2


def test_a_handle_is_had_of_a_run_that_exists():
    echo.using(id="a").enqueue()
    assert retrieve("a") == Handle("a")
    assert row(retrieve("a")).name == "testapp.echo"


@pytest.mark.parametrize("workflow_id", ["b", "", " ", "\x00", "\ud800", "x" * 10_000])
def test_an_id_that_no_run_has_is_not_found_and_the_transaction_stays_usable(workflow_id):
    for ask in (
        retrieve,
        lambda given: Handle(given).status,
        lambda given: Handle(given).record,
        lambda given: Handle(given).result(timeout=0),
        lambda given: Handle(given).cancel(),
        lambda given: Handle(given).resume(),
        lambda given: Handle(given).retry(),
    ):
        with pytest.raises(WorkflowNotFound):
            ask(workflow_id)
    assert echo.enqueue().status == Status.ENQUEUED
