"""What is done to runs from outside, and from other bodies: fork, rewind, delete, delays, edits, cascades."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

import pytest

from django_durable import (
    control,
    get_event,
    recv,
    retrieve,
    send,
    set_event,
    sleep,
    step,
    workflow,
    workflow_id,
    write_stream,
)
from django_durable.core.states import ACTIVE, FINAL, Status, allows
from django_durable.engine.execution import context
from django_durable.exceptions import (
    ChildCancelled,
    InvalidOption,
    TransitionRefused,
    WorkflowIDInUse,
    WorkflowNotFound,
)
from django_durable.maintenance.deadlines import Deadlines
from django_durable.models import (
    Event,
    EventHistory,
    Message,
    StepOutput,
    StreamEntry,
    WorkflowStatus,
)
from django_durable.testing import shift
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def hits():
    return []


@pytest.fixture
def three_steps(hits):
    @step
    def work(name):
        hits.append(name)
        return name

    @workflow(name="three")
    def three(suffix=""):
        set_event("stage", "begun")
        first = work("a")
        set_event("stage", "half")
        write_stream("log", "half")
        second = work("b")
        set_event("stage", "done")
        return first + second + suffix

    return three


def test_a_fork_goes_on_with_what_was_recorded_before_its_step(drain, three_steps, hits):
    run = three_steps.using(priority=5, attributes={"k": 1}, partition_key="p").enqueue("!")
    drain()
    copy = run.fork(5)
    row = copy.record
    assert (row.status, row.forked_from, row.priority, row.attributes) == (
        Status.ENQUEUED,
        run.id,
        5,
        {"k": 1},
    )
    assert (row.deadline, row.parent_id, row.attempt) == (None, None, 0)
    assert get_event(copy.id, "stage") == "half"
    assert StreamEntry.objects.filter(workflow_id=copy.id).count() == 1
    drain()
    assert copy.result() == "ab!"
    assert hits == ["a", "b", "b"]
    assert get_event(run.id, "stage") == "done"


def test_a_fork_under_a_given_id_is_made_once(drain, three_steps):
    run = three_steps.enqueue()
    drain()
    assert run.fork(new_id="again").id == "again"
    with pytest.raises(WorkflowIDInUse):
        run.fork(new_id="again")
    with pytest.raises(WorkflowNotFound):
        retrieve_unchecked("nobody").fork()


def retrieve_unchecked(workflow_id):
    return control.handle(workflow_id)


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "2", 2**40])
def test_a_step_to_fork_from_or_rewind_to_is_a_number_from_1(drain, three_steps, number):
    run = three_steps.enqueue()
    drain()
    with pytest.raises(InvalidOption):
        run.fork(number)
    with pytest.raises(InvalidOption):
        run.rewind(number)


def test_a_rewind_cuts_the_history_away_and_goes_on_from_there(drain, hits):
    @step
    def work(name):
        hits.append(name)

    @workflow(name="long")
    def long():
        set_event("stage", 1)
        work("a")
        got = recv("m")
        set_event("stage", 2)
        set_event("late", True)
        write_stream("log", got)
        return got

    run = long.enqueue()
    send(run.id, "message", "m")
    drain()
    run.rewind(3)
    assert get_event(run.id, "stage") == 1
    assert get_event(run.id, "late") is None
    assert Message.objects.get().consumed_step is None
    assert not StreamEntry.objects.exists()
    assert sorted(StepOutput.objects.values_list("step", flat=True)) == [1, 2]
    assert (run.status, run.record.output, run.record.completed_at) == (Status.ENQUEUED, None, None)
    drain()
    assert run.result() == "message"
    assert hits == ["a"]


def test_a_deleted_run_leaves_nothing_behind(drain, three_steps):
    run = three_steps.enqueue()
    drain()
    send(run.id, "left over")
    run.delete()
    for model in (WorkflowStatus, StepOutput, Event, EventHistory, Message, StreamEntry):
        assert not model.objects.exists()


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("verb", ["delete", "postpone", "reprioritise", "annotate", "rewind"])
def test_each_verb_does_what_its_table_allows_and_refuses_the_rest(verb, status):
    run = WorkflowFactory.create(status=status)
    act = {
        "delete": lambda: control.delete([run.id]),
        "postpone": lambda: control.set_delay([run.id], delay=60),
        "reprioritise": lambda: control.set_priority([run.id], 7),
        "annotate": lambda: control.set_attributes([run.id], {"a": 1}),
        "rewind": lambda: control.rewind([run.id], to_step=1),
    }[verb]
    if allows(verb, status):
        assert act() == [run.id]
    else:
        with pytest.raises(TransitionRefused):
            act()


def test_in_bulk_a_verb_changes_those_it_may_and_names_them():
    runs = {status: WorkflowFactory.create(status=status).id for status in Status}
    assert sorted(control.delete(runs.values())) == sorted(runs[status] for status in FINAL)
    assert sorted(control.cancel([*runs.values(), "nobody"])) == sorted(runs[status] for status in ACTIVE)


def test_a_postponed_run_starts_at_its_new_time(drain, three_steps):
    run = three_steps.enqueue()
    instant = datetime.now(UTC) + timedelta(hours=2)
    control.set_delay([run.id], run_at=instant)
    assert drain() == []
    assert (run.status, run.record.delay_until) == (Status.DELAYED, instant)
    control.set_delay([run.id], delay=0)
    drain.hasten()
    drain()
    assert run.result() == "ab"
    with pytest.raises(InvalidOption):
        control.set_delay(["any"])


def test_a_raised_priority_goes_first(drain, three_steps):
    first, second = three_steps.enqueue(), three_steps.enqueue()
    control.set_priority([second.id], 50)
    assert [run.id for run in drain.claim(slots=1)] == [second.id]
    assert first.status == Status.ENQUEUED


def test_a_queued_run_moves_to_another_queue_by_resume(drain, three_steps):
    run = three_steps.enqueue()
    control.resume([run.id], queue="other")
    assert run.record.queue == "other"


@pytest.fixture
def family():
    @workflow(name="leaf")
    def leaf():
        recv()

    @workflow(name="middle")
    def middle():
        leaf()

    @workflow(name="top")
    def top():
        try:
            middle()
        except ChildCancelled:
            return "noticed"

    return top


def test_a_cancel_takes_the_children_only_if_told(drain, family):
    lone, whole = family.enqueue(), family.enqueue()
    drain()
    lone.cancel()
    assert control.counts(status=Status.WAITING) == {Status.WAITING: 5}
    assert len(control.cancel([whole.id], cascade=True)) == 3
    assert control.counts() == {Status.WAITING: 2, Status.CANCELLED: 4}
    control.cancel([lone.id + "-1"], cascade=True)
    assert control.counts() == {Status.CANCELLED: 6}


def test_a_cancelled_child_wakes_its_parent(drain, family):
    run = family.enqueue()
    drain()
    retrieve(f"{run.id}-1").cancel()
    drain()
    assert run.result() == "noticed"


def test_a_parent_cancelled_while_it_waits_can_be_resumed_and_gets_the_result(drain):
    @workflow(name="child")
    def child():
        return recv()

    @workflow(name="parent")
    def parent():
        return child()

    run = parent.enqueue()
    drain()
    run.cancel()
    send(f"{run.id}-1", "late result")
    drain()
    assert run.status == Status.CANCELLED
    run.resume()
    drain()
    assert run.result() == "late result"
    assert not StepOutput.objects.filter(error__isnull=False).exists()


@pytest.mark.parametrize("caught", [Exception, BaseException])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_cancelled_body_runs_no_further_step_whatever_it_catches(drain, caught, is_async):
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 3:
            control.cancel(["loop"])

    counted = step(name="tick")(tick)

    @workflow(name="loops")
    def loops():
        for _ in range(50):
            with suppress(caught):
                counted()

    @workflow(name="aloops")
    async def aloops():
        for _ in range(50):
            with suppress(caught):
                await counted.acall()

    run = (aloops if is_async else loops).using(id="loop").enqueue()
    drain()
    assert len(ticks) == 3
    assert run.status == Status.CANCELLED


def test_a_body_that_never_heeds_its_end_is_slowed_down_and_told_of(drain, monkeypatch, caplog):
    monkeypatch.setattr(context, "REFUSALS", 3)

    @step
    def tick():
        control.cancel(["deaf"])

    @workflow(name="deaf")
    def deaf():
        for _ in range(6):
            with suppress(BaseException):
                tick()

    run = deaf.using(id="deaf").enqueue()
    began = time.monotonic()
    drain()
    assert run.status == Status.CANCELLED
    assert time.monotonic() - began > 2 * context.REFUSED_FOR
    assert [record.getMessage() for record in caplog.records if "deaf deaf goes on" in record.getMessage()]


def test_a_run_without_a_timeout_is_never_overdue(drain):
    @workflow(name="hurries", timeout=5)
    def hurries():
        return recv()

    run, other = hurries.using(timeout=None).enqueue(), hurries.enqueue()
    drain()
    shift(10**8)
    assert Deadlines("default").run_once().timed_out == (other.id,)
    assert (run.status, run.record.deadline) == (Status.WAITING, None)


@pytest.mark.parametrize("wait", ["sleep", "recv", "get_event"])
def test_a_run_cancelled_while_it_waits_waits_on_once_it_is_resumed(drain, wait):
    @workflow(name="publisher")
    def publisher():
        set_event("news", "there")

    @workflow(name="waits")
    def waits():
        waits_for = {
            "sleep": lambda: sleep(3600),
            "recv": recv,
            "get_event": lambda: get_event("other", "news"),
        }
        return waits_for[wait]()

    run, other = waits.enqueue(), publisher.using(id="other", delay=7200).enqueue()
    drain()
    run.cancel()
    drain()
    run.resume()
    drain()
    assert run.status == Status.WAITING
    assert not StepOutput.objects.filter(error__isnull=False).exists()
    send(run.id, "there")
    control.set_delay([other.id], delay=0)
    shift(3600)
    drain.hasten()
    drain()
    drain()
    assert run.result() == (None if wait == "sleep" else "there")


@pytest.mark.parametrize("verb", ["cancel", "resume", "retry", "rewind", "fork", "delete"])
def test_a_verb_inside_a_body_is_recorded_and_done_once(drain, verb):
    @workflow(name="operates")
    def operates(target):
        call = {
            "cancel": lambda: control.cancel([target]),
            "resume": lambda: control.resume([target], queue="elsewhere"),
            "retry": lambda: control.retry([target]),
            "rewind": lambda: control.rewind([target], to_step=1),
            "fork": lambda: control.fork([target]),
            "delete": lambda: control.delete([target]),
        }[verb]
        changed = call()
        recv("go on")
        return changed

    status = {"cancel": Status.WAITING, "resume": Status.CANCELLED, "retry": Status.ERROR}
    target = WorkflowFactory.create(status=status.get(verb, Status.SUCCESS), queue="elsewhere").id
    run = operates.enqueue(target)
    drain("default")
    before = WorkflowStatus.objects.count()
    send(run.id, None, "go on")
    drain("default")
    assert len(run.result()) == 1
    assert WorkflowStatus.objects.count() == before
    assert StepOutput.objects.get(workflow_id=run.id, step=1).name == f"durable.{verb}"


def test_a_refused_verb_inside_a_body_is_a_recorded_error(drain):
    @workflow(name="operates")
    def operates():
        try:
            control.cancel(["nobody"])
        except WorkflowNotFound:
            return "refused"

    run = operates.enqueue()
    drain()
    assert run.result() == "refused"


def test_a_body_that_cancels_itself_ends_cancelled(drain):
    @workflow(name="stops")
    def stops():
        retrieve_unchecked(workflow_id()).cancel("enough")
        return "not reached"

    run = stops.enqueue()
    drain()
    assert run.status == Status.CANCELLED


def test_runs_are_found_by_every_filter(drain, three_steps):
    made = three_steps.using(
        id="needle", queue="default", partition_key="p", limit_key="k", attributes={"tenant": 7, "x": 1}
    ).enqueue()
    three_steps.enqueue()
    drain()
    now = datetime.now(UTC)
    for filters in (
        {"ids": ["needle"]},
        {"id_prefix": "need"},
        {"id_prefix": ["nee", "other"]},
        {"partition_key": "p"},
        {"limit_key": ["k", "other"]},
        {"attributes": {"tenant": 7}},
        {"ids": ["needle"], "created_after": now - timedelta(minutes=1), "created_before": now},
        {"ids": ["needle"], "completed_after": now - timedelta(minutes=1)},
    ):
        assert [row.id for row in control.list_workflows(**filters)] == ["needle"], filters
    assert control.list_workflows(status=[Status.ERROR]) == []
    assert len(control.list_workflows(name="three", queue="default", has_parent=False)) == 2
    assert [row.id for row in control.list_workflows(newest_first=False, limit=1)] == ["needle"]
    assert control.list_workflows(offset=2) == []
    assert control.counts(by=["queue", "status"]) == {("default", Status.SUCCESS): 2}
    assert made.record.id == "needle"


def test_forked_and_debounced_runs_are_found_by_their_kind(three_steps):
    made = three_steps.using(id="made").enqueue()
    copy = made.fork(new_id="copy")
    calm = three_steps.debounce("key", 60).enqueue()
    for name, run in (("is_fork", copy), ("is_debounced", calm)):
        assert [row.id for row in control.list_workflows(**{name: True})] == [run.id]
        assert run.id not in {row.id for row in control.list_workflows(**{name: False})}
    assert len(control.list_workflows(is_fork=False, is_debounced=False)) == 1


@pytest.mark.parametrize(
    "filters",
    [
        {"created_after": datetime(2026, 1, 1)},
        {"created_before": date(2026, 1, 1)},
        {"started_after": "2026-01-01T00:00:00+00:00"},
        {"completed_before": 1_767_225_600},
        {"completed_after": timedelta(1)},
        {"status": "success"},
        {"status": ["X"]},
        {"limit": -1},
        {"offset": "3"},
        {"attributes": {"a": "\0"}},
        {"attributes": {1: 2}},
    ],
)
def test_a_filter_that_means_nothing_is_refused(filters):
    with pytest.raises(InvalidOption):
        control.list_workflows(**filters)


def test_counting_by_an_unknown_column_is_refused():
    with pytest.raises(InvalidOption, match="input"):
        control.counts(by=["input"])


def test_a_deadline_that_passed_stops_the_body_at_its_next_call(drain):
    @workflow(name="late")
    def late():
        for _ in range(10_000):
            sleep(0.01)

    run = late.using(deadline=datetime.now(UTC) + timedelta(seconds=0.2)).enqueue()
    drain()
    assert run.status == Status.CANCELLED
    assert "deadline" in run.record.error


def test_a_filter_for_what_no_row_can_bear_finds_nothing(drain, three_steps):
    three_steps.enqueue()
    for filters in ({"ids": ["a\0", "\ud800"]}, {"id_prefix": "\0"}, {"queue": "\ud800"}, {"parent": "\0"}):
        assert control.list_workflows(**filters) == []
