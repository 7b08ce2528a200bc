"""A run is taken from a worker that was thought lost, and still writes."""

from __future__ import annotations

import threading

import pytest

from django_durable import step, workflow
from django_durable.core.outcomes import Overtaken
from django_durable.core.states import Status
from django_durable.engine.declared import workflows
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.runner import Runner
from django_durable.models import StepOutput
from tests.races.executions import (
    ENDINGS,
    USING,
    as_it_stands,
    cancel,
    checkpoint,
    claim,
    end,
    owner,
    recover,
    running,
    status,
)
from tests.testapp.models import Ledger
from tests.testapp.workflows import echo


@pytest.mark.parametrize("how", ENDINGS)
def test_a_run_that_is_just_ending_is_left_alone(race, how):
    run = running()
    lost = owner(run)
    with race.holding(end, run, how):
        assert race.side().do(recover, lost) == []
    before = as_it_stands()
    assert recover(lost) == []
    assert as_it_stands() == before


def test_one_whose_ending_was_taken_back_is_found_by_the_next_pass(race):
    run = running()
    lost = owner(run)
    with race.holding(end, run, "complete", commits=False):
        assert race.side().do(recover, lost) == []
    assert recover(lost) == [("w", Status.ENQUEUED)]


@pytest.mark.parametrize("how", ENDINGS)
def test_an_ending_that_waits_for_a_recovery_is_refused(race, how):
    run = running()
    with race.holding(recover, owner(run)):
        late = race.blocked(end, run, how)
    assert late.result(30) is False
    assert status() == Status.ENQUEUED


def test_a_run_that_was_claimed_again_is_not_recovered_for_its_first_owner(race):
    first = running()
    lost = owner(first)
    with race.holding(recover, lost):
        assert race.side().do(recover, lost) == []  # a second pass at the same time passes over it
    (again,) = claim()
    before = as_it_stands()
    assert recover(lost) == []
    assert as_it_stands() == before
    assert end(again, "complete") is True


def test_a_run_being_recovered_is_claimed_only_once_it_is_in_line_again(race):
    run = running()
    with race.holding(recover, owner(run)):
        assert race.side().do(claim) == []
    assert [again.claims for again in claim()] == [2]


def test_a_recovered_run_stands_before_those_that_came_later(race):
    first = running("first")
    echo.using(id="second").enqueue()
    recover(owner(first))
    assert [run.id for run in claim()] == ["first", "second"]


def test_a_checkpoint_being_written_keeps_the_recovery_off_and_stays(race):
    run = running()
    lost = owner(run)
    with race.holding(checkpoint, run):
        assert race.side().do(recover, lost) == []
    assert recover(lost) == [("w", Status.ENQUEUED)]
    (again,) = claim()
    assert again.has_history
    assert StepOutput.objects.count() == 1


def test_a_checkpoint_that_waits_for_a_recovery_is_refused(race):
    run = running()
    with race.holding(recover, owner(run)):
        late = race.blocked(checkpoint, run)
    assert late.result(30) is False
    assert not StepOutput.objects.exists()


def test_a_recovery_passes_over_a_run_that_is_being_cancelled(race):
    run = running()
    lost = owner(run)
    with race.holding(cancel):
        assert race.side().do(recover, lost) == []
    assert recover(lost) == []
    assert status() == Status.CANCELLED


def test_an_atomic_step_of_a_worker_that_was_overtaken_meanwhile_leaves_no_row(race):
    """Both are inside the same step; the successor commits, then the first wants to."""
    inside, go_on = threading.Event(), threading.Event()
    zombie = race.side()
    first_thread = zombie.do(threading.current_thread)

    @step(atomic=True)
    def book():
        Ledger.objects.create(run_id="w", step="seat")
        if threading.current_thread() is first_thread:
            inside.set()
            assert go_on.wait(30)

    @workflow(name="races.overtaken")
    def body():
        book()

    try:
        run = body.using(id="w").enqueue()
        (first,) = claim()
        late = zombie.start(execute, first)
        assert inside.wait(30)
        recover(owner(first))
        (second,) = claim()
        execute(second)
        go_on.set()
        assert late.result(30) == Overtaken()
    finally:
        go_on.set()
        workflows.remove(body.declaration)
    assert run.status == Status.SUCCESS
    assert Ledger.objects.count() == 1
    assert StepOutput.objects.count() == 1


def execute(run):
    return Runner(DirectRecorder(USING), USING).run(run)
