"""Each verb changes a run in the statuses its table names, and in no other."""

from __future__ import annotations

import pytest

from django_durable import control
from django_durable.core.states import ACTIVE, FINAL, PARKED, TRANSITIONS, Status, allows
from django_durable.engine import retrying
from django_durable.engine.handle import Handle
from django_durable.exceptions import TransitionRefused, WorkflowNotFound
from django_durable.models import StepOutput, WorkflowStatus
from tests.factories import StepFactory, WorkflowFactory

pytestmark = pytest.mark.django_db

VERBS = ["cancel", "resume", "retry"]
PAIRS = [(verb, status) for verb in VERBS for status in Status]


def one(status, **columns):
    return WorkflowFactory.create(status=status, **columns)


def columns_of(workflow_id):
    return WorkflowStatus.objects.filter(pk=workflow_id).values().get()


@pytest.mark.parametrize(("verb", "status"), PAIRS)
def test_a_handle_does_what_the_table_allows_and_refuses_the_rest(verb, status):
    run = one(status)
    before = columns_of(run.id)
    if allows(verb, status):
        getattr(Handle(run.id), verb)()
        assert columns_of(run.id)["status"] == TRANSITIONS[verb][1]
    else:
        with pytest.raises(TransitionRefused) as refused:
            getattr(Handle(run.id), verb)()
        assert (refused.value.verb, refused.value.status) == (verb, status)
        assert columns_of(run.id) == before


@pytest.mark.parametrize("verb", VERBS)
def test_in_bulk_those_that_allow_it_are_changed_and_told_and_the_others_stay(verb):
    runs = {status: one(status) for status in Status}
    before = {status: columns_of(run.id) for status, run in runs.items()}
    changed = getattr(control, verb)([*(run.id for run in runs.values()), "nobody"])
    assert set(changed) == {run.id for status, run in runs.items() if allows(verb, status)}
    for status, run in runs.items():
        expected = TRANSITIONS[verb][1] if allows(verb, status) else status
        assert columns_of(run.id)["status"] == expected
        assert (columns_of(run.id) == before[status]) == (not allows(verb, status))


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_at_all_and_nobody_are_no_change(verb):
    assert getattr(control, verb)([]) == []
    assert getattr(control, verb)(["nobody", "no one"]) == []
    with pytest.raises(WorkflowNotFound):
        getattr(control, verb)(["nobody"])


@pytest.mark.parametrize("status", sorted(ACTIVE | {PARKED}))
def test_a_cancelled_run_holds_nothing_any_more(status):
    run = one(status, deduplication_id="k", limit_key="stripe")
    Handle(run.id).cancel(reason="not wanted")
    row = columns_of(run.id)
    held = ("line", "group_line", "enqueued_xid", "arrival", "claim_token", "executor_id", "claim_seq")
    also_held = ("deduplication_id", "delay_until", "wake_at", "wait_topic")
    assert {name: row[name] for name in (*held, *also_held)} == dict.fromkeys((*held, *also_held))
    assert row["completed_at"] is not None
    assert "not wanted" in row["error"]
    assert row["limit_key"] == "stripe"


@pytest.mark.parametrize("status", [Status.CANCELLED, PARKED])
def test_a_resumed_run_starts_anew_with_what_it_recorded(drain, status):
    run = one(status, claims=102, attempt=3, error="{}", deadline="2020-01-01T00:00:00Z", seq=0)
    StepFactory.create(workflow=run, step=1)
    StepFactory.create(workflow=run, step=2, output=None, error="{}")
    Handle(run.id).resume()
    row = columns_of(run.id)
    reset = ("claims", "attempt", "error", "output", "deadline", "completed_at", "started_at")
    assert {name: row[name] for name in reset} == {**dict.fromkeys(reset), "claims": 0, "attempt": 0}
    assert row["line"] == row["seq"] > 0
    assert StepOutput.objects.count() == 2
    drain()
    assert Handle(run.id).status == Status.SUCCESS


def test_a_run_in_line_can_be_moved_to_another_queue():
    run = one(Status.ENQUEUED)
    Handle(run.id).resume(queue="other")
    row = columns_of(run.id)
    assert (row["queue"], row["status"], row["line"]) == ("other", Status.ENQUEUED, row["seq"])


def test_a_retried_run_drops_the_failure_it_ended_with_and_only_that():
    run = one(Status.ERROR, attempt=1)
    StepFactory.create(workflow=run, step=1, output=None, error="{}")
    StepFactory.create(workflow=run, step=2)
    StepFactory.create(workflow=run, step=3, output=None, error="{}")
    Handle(run.id).retry()
    assert sorted(StepOutput.objects.values_list("step", flat=True)) == [1, 2]
    assert columns_of(run.id)["attempt"] == 0


def test_runs_put_back_together_stand_in_the_order_they_were_named():
    runs = [one(Status.CANCELLED) for _ in range(5)]
    named = [runs[n].id for n in (3, 0, 4, 1, 2)]
    assert sorted(control.resume(named)) == sorted(named)
    assert list(WorkflowStatus.objects.order_by("line").values_list("id", flat=True)) == named


def test_the_table_of_verbs_is_whole():
    """Every status but the first is reached by a verb, and every active one is left by one."""
    reached = {target for _, target in TRANSITIONS.values()}
    left = set().union(*(origins for origins, _ in TRANSITIONS.values()))
    assert reached | {Status.ENQUEUED, Status.DELAYED} == set(Status)
    assert left >= ACTIVE
    assert left - ACTIVE <= FINAL


def test_runs_stand_in_line_in_the_order_in_which_they_are_named():
    runs = [one(Status.CANCELLED).id for _ in range(4)]
    named = [runs[2], runs[0], runs[2], runs[3], runs[1]]
    control.resume(named)
    in_line = WorkflowStatus.objects.order_by("line").values_list("id", flat=True)
    assert list(in_line) == [runs[2], runs[0], runs[3], runs[1]]


def test_the_history_of_many_runs_is_cut_some_at_a_time(monkeypatch):
    monkeypatch.setattr(retrying, "RUNS_A_STATEMENT", 2)
    runs = [one(Status.ERROR).id for _ in range(5)]
    for run in runs:
        for number in (1, 2):
            StepFactory.create(workflow_id=run, step=number)
    assert sorted(control.rewind(runs, to_step=2)) == sorted(runs)
    assert sorted(StepOutput.objects.values_list("workflow_id", "step")) == [(run, 1) for run in sorted(runs)]
