"""Bodies that start other runs and wait for them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from django.db import InterfaceError, OperationalError

from django_durable import (
    aget_event,
    gather,
    recv,
    send,
    set_event,
    step,
    wait_first,
    workflow,
    workflow_id,
)
from django_durable.core.states import Status
from django_durable.exceptions import (
    ChildCancelled,
    InvalidOption,
    OutsideWorkflow,
    ResultTimeout,
    StepFailed,
    WorkflowFailed,
    WorkflowNotFound,
)
from django_durable.models import Queue, StepOutput, WorkflowStatus

pytestmark = pytest.mark.django_db


@pytest.fixture
def double():
    @workflow(name="double")
    def double(number):
        return number * 2

    return double


@pytest.fixture
def obeys():
    """Ends as it is told by a message."""

    @workflow(name="obeys")
    def obeys():
        order = recv()
        if order == "fail":
            raise ValueError("as told")
        if order == "tell":
            set_event("news", "told")
            order = recv()
        return order

    return obeys


def test_a_workflow_called_in_a_body_is_a_child_whose_result_comes_back(drain, double):
    @workflow(name="parent")
    def parent():
        return double(4) + double(5)

    run = parent.enqueue()
    drain()
    assert run.result() == 18
    children = WorkflowStatus.objects.filter(parent_id=run.id).order_by("parent_step")
    assert [(child.id, child.parent_step) for child in children] == [(f"{run.id}-1", 1), (f"{run.id}-3", 3)]


def test_a_parent_waits_without_a_slot_until_its_child_ends(drain, obeys):
    @workflow(name="parent")
    def parent():
        return obeys()

    run = parent.enqueue()
    drain()
    child = WorkflowStatus.objects.get(parent_id=run.id)
    assert (run.status, run.record.wait_topic, run.record.wake_at) == (
        Status.WAITING,
        f"run {child.id}",
        None,
    )
    send(child.id, "well done")
    drain()
    assert run.result() == "well done"


@pytest.mark.parametrize("order", ["fail", "cancel"])
def test_a_child_that_does_not_succeed_raises_a_recorded_error_in_its_parent(drain, obeys, order):
    @workflow(name="parent")
    def parent():
        try:
            return obeys()
        except (ValueError, ChildCancelled) as error:
            recv("stay")
            return type(error).__name__

    run = parent.enqueue()
    drain()
    child = f"{run.id}-1"
    if order == "cancel":
        from django_durable import retrieve

        retrieve(child).cancel()
    else:
        send(child, order)
    drain()
    assert StepOutput.objects.get(workflow_id=run.id, step=2).error is not None
    send(run.id, None, "stay")
    drain()
    assert run.result() == {"fail": "ValueError", "cancel": "ChildCancelled"}[order]


def test_parents_of_one_slot_never_wait_for_each_other(drain, double):
    Queue.objects.create(name="narrow", concurrency=None)

    @workflow(name="parent")
    def parent(depth):
        return 1 if depth == 0 else parent(depth - 1) + 1

    run = parent.enqueue(6)
    while runs := drain.claim(slots=1):
        for claimed in runs:
            drain.run(claimed)
    assert run.result() == 7


def test_an_enqueue_in_a_body_is_recorded_and_makes_one_run(drain, double):
    @workflow(name="parent")
    def parent():
        handle = double.using(priority=3).enqueue(1)
        recv()
        return handle.id

    run = parent.enqueue()
    drain()
    send(run.id, None)
    drain()
    assert run.result() == f"{run.id}-1"
    assert WorkflowStatus.objects.filter(name="double").count() == 1
    assert StepOutput.objects.get(workflow_id=run.id, step=1).child == f"{run.id}-1"


def test_enqueue_many_in_a_body_is_one_step(drain, double):
    @workflow(name="parent")
    def parent():
        return gather(*double.enqueue_many([((n,), {}) for n in range(5)]))

    run = parent.enqueue()
    drain()
    assert run.result() == [0, 2, 4, 6, 8]


def test_a_pinned_id_a_deduplication_id_and_a_conflict_hold_in_a_body_too(drain, double, obeys):
    double.using(id="taken").enqueue(1)

    @workflow(name="parent")
    def parent():
        same = double.using(id="taken").enqueue(1)
        try:
            obeys.using(id="taken").enqueue()
        except Exception as error:
            return same.id, type(error).__name__

    run = parent.enqueue()
    drain()
    assert run.result() == ("taken", "ConflictingWorkflow")


def test_a_child_inherits_the_instant_of_the_deadline_unless_it_declines(drain, obeys):
    deadline = datetime.now(UTC) + timedelta(hours=3)

    @workflow(name="parent")
    def parent():
        obeys.enqueue()
        obeys.using(timeout=None).enqueue()
        obeys.using(deadline=deadline - timedelta(hours=1)).enqueue()

    run = parent.using(deadline=deadline).enqueue()
    drain()
    found = WorkflowStatus.objects.filter(parent_id=run.id).order_by("parent_step")
    assert [child.deadline for child in found] == [deadline, None, deadline - timedelta(hours=1)]


def test_gather_gives_results_in_order_and_survives_replays(drain, obeys):
    @workflow(name="parent")
    def parent():
        return gather(*[obeys.enqueue() for _ in range(3)])

    run = parent.enqueue()
    drain()
    for number in (3, 1, 2):
        send(f"{run.id}-{number}", f"answer {number}")
        drain()
    assert run.result() == ["answer 1", "answer 2", "answer 3"]


def test_gather_raises_the_first_error_or_hands_all_over(drain, obeys):
    @workflow(name="parent")
    def parent():
        runs = [obeys.enqueue() for _ in range(2)]
        seen = gather(*runs, return_exceptions=True)
        try:
            gather(*runs)
        except ValueError as error:
            return [str(each) for each in seen], str(error)

    run = parent.enqueue()
    drain()
    send(f"{run.id}-1", "fail")
    send(f"{run.id}-2", "fine")
    drain()
    assert run.result() == (["as told", "fine"], "as told")


def test_wait_first_gives_the_run_that_ended_first_and_keeps_to_it(drain, obeys):
    @workflow(name="parent")
    def parent():
        runs = [obeys.enqueue() for _ in range(3)]
        first = wait_first(*runs)
        recv("go on")
        return first.id, first.result()

    run = parent.enqueue()
    drain()
    assert run.record.wait_topic == "children"
    send(f"{run.id}-2", "me")
    drain()
    send(f"{run.id}-1", "too late")
    drain()
    send(run.id, None, "go on")
    drain()
    assert run.result() == (f"{run.id}-2", "me")


def test_wait_first_over_runs_of_others_is_woken_by_the_first_end(drain, obeys):
    others = [obeys.enqueue() for _ in range(2)]

    @workflow(name="parent")
    def parent():
        return wait_first(*others).id

    run = parent.enqueue()
    drain()
    assert (run.status, run.record.wake_at) == (Status.WAITING, None)
    send(others[1].id, "end")
    drain()
    assert run.result() == others[1].id


@pytest.mark.parametrize("how", ["cancel", "fail", "event"])
def test_branches_that_wait_for_runs_of_others_and_events_wake_without_looking(drain, obeys, how):
    others = [obeys.enqueue() for _ in range(2)]

    @workflow(name="parent")
    async def parent():
        waits = [others[0].aresult(), others[1].aresult(), aget_event(others[0].id, "news")]
        tasks = [asyncio.ensure_future(each) for each in waits]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        return [tasks.index(task) for task in done]

    run = parent.enqueue()
    drain()
    assert (run.status, run.record.wake_at) == (Status.WAITING, None)
    if how == "cancel":
        others[1].cancel()
    elif how == "fail":
        send(others[1].id, "fail")
    else:
        send(others[0].id, "tell")
    drain()
    assert run.result() == [2 if how == "event" else 1]


def test_a_stranger_that_bears_an_id_made_for_a_child_is_left_alone(drain, double):
    strangers = [double.using(id=each).enqueue(1) for each in ("order-1", "bulk-1-2", "bulk-1.2-1")]

    @workflow(name="one")
    def one():
        return double(21)

    @workflow(name="many")
    def many():
        return gather(*double.enqueue_many([((number,), {}) for number in (1, 2)]))

    runs = [one.using(id="order").enqueue(), many.using(id="bulk").enqueue()]
    drain()
    assert [run.result() for run in runs] == [42, [2, 4]]
    assert [each.result() for each in strangers] == [2, 2, 2]
    children = WorkflowStatus.objects.filter(parent__isnull=False).order_by("id")
    assert [each.id for each in children] == ["bulk-1.3-1", "bulk-1.3-2", "order-1.2"]


@pytest.mark.parametrize("letter", ["x", "🐍"])
def test_a_parent_whose_id_is_as_long_as_can_be_has_children(drain, double, letter):
    @workflow(name="parent")
    def parent():
        first = double.enqueue(1)
        send(first.id, "its id is one that every call takes")
        return [first.result(), *gather(*double.enqueue_many([((number,), {}) for number in (2, 3)]))]

    run = parent.using(id=letter * (255 // len(letter.encode()))).enqueue()
    drain()
    assert run.result() == [2, 4, 6]
    assert WorkflowStatus.objects.filter(parent=run.id).count() == 3


ODD = [
    OperationalError("connection refused"),
    InterfaceError("connection already closed"),
    TimeoutError(),
    KeyboardInterrupt(),
    SystemExit(1),
    StopIteration(),
    GeneratorExit(),
    asyncio.CancelledError(),
]


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_async", [False, True])
def test_an_odd_error_of_a_child_reaches_its_parent_once(drain, error, is_async):
    tries = []

    @workflow(name="blocking")
    def blocking():
        tries.append(1)
        raise error

    @workflow(name="awaiting")
    async def awaiting():
        tries.append(1)
        raise error

    @workflow(name="parent")
    def parent():
        try:
            blocking()
        except (type(error), StepFailed, WorkflowFailed):
            return "seen"

    @workflow(name="aparent")
    async def aparent():
        try:
            await awaiting()
        except (type(error), RuntimeError, StepFailed, WorkflowFailed):  # no coroutine raises StopIteration
            return "seen"

    run = (aparent if is_async else parent).enqueue()
    drain()
    assert run.result() == "seen"
    assert tries == [1]


def test_a_child_that_was_started_under_an_older_name_is_found_again(drain):
    @workflow(name="new name", aliases=["old name"])
    def child():
        return "found"

    @workflow(name="parent")
    def parent():
        return child()

    run = parent.using(id="p").enqueue()
    drain()
    WorkflowStatus.objects.filter(pk="p-1").update(name="old name")
    run.rewind(1)
    drain()
    assert run.result() == "found"


@pytest.mark.parametrize("count", [0, 2])
def test_wait_first_of_nothing_or_of_the_same_twice_is_refused(drain, double, count):
    handle = double.enqueue(1)
    with pytest.raises(InvalidOption):
        wait_first(*[handle] * count)


def test_the_result_of_a_run_that_does_not_exist_is_a_recorded_error(drain):
    from django_durable.engine.handle import Handle

    @workflow(name="parent")
    def parent():
        try:
            Handle("nobody").result()
        except WorkflowNotFound as error:
            return str(error)

    run = parent.enqueue()
    drain()
    assert "nobody" in run.result()


def test_a_result_that_does_not_come_in_time_is_a_recorded_error(drain, obeys):
    @workflow(name="parent")
    def parent():
        child = obeys.enqueue()
        try:
            child.result(timeout=0)
        except ResultTimeout:
            return child.result()

    run = parent.enqueue()
    drain()
    send(f"{run.id}-1", "later")
    drain()
    assert run.result() == "later"


def test_a_workflow_called_outside_a_body_is_refused_with_what_to_do(double):
    with pytest.raises(OutsideWorkflow, match="double"):
        double(1)
    assert double.call(1) == 2


def test_gather_and_wait_first_outside_read_what_has_ended(drain, double):
    runs = [double.enqueue(n) for n in range(3)]
    drain()
    assert gather(*runs) == [0, 2, 4]
    assert wait_first(*runs) in runs


def test_a_step_starts_runs_plainly(drain, double):
    @step
    def start():
        return double.enqueue(2).id

    @workflow(name="parent")
    def parent():
        return start(), workflow_id()

    run = parent.enqueue()
    drain()
    child, own_id = run.result()
    assert own_id == run.id
    assert WorkflowStatus.objects.get(pk=child).parent_id is None
