"""A run ends while somebody cancels it: the first that commits decides, the other learns it."""

from __future__ import annotations

import pytest

from django_durable.core.states import PARKED, Status
from django_durable.exceptions import TransitionRefused
from tests.races.executions import ENDINGS, cancel, checkpoint, claim_the_head, end, running, status
from tests.testapp.workflows import echo

LEFT_IN = {
    "complete": Status.SUCCESS,
    "fail": Status.ERROR,
    "cancel": Status.CANCELLED,
    "park": PARKED,
    "defer": Status.DELAYED,
}


@pytest.mark.parametrize("how", ENDINGS)
def test_an_ending_that_waits_for_a_cancel_is_refused(race, how):
    run = running()
    with race.holding(cancel):
        late = race.blocked(end, run, how)
    assert late.result(30) is False
    assert status() == Status.CANCELLED


@pytest.mark.parametrize("how", ENDINGS)
def test_an_ending_that_waits_for_a_cancel_that_is_taken_back_is_written(race, how):
    run = running()
    with race.holding(cancel, commits=False):
        late = race.blocked(end, run, how)
    assert late.result(30) is True
    assert status() == LEFT_IN[how]


@pytest.mark.parametrize("how", ["complete", "fail", "cancel"])
def test_a_cancel_that_waits_for_an_ending_is_refused(race, how):
    run = running()
    with race.holding(end, run, how):
        late = race.blocked(cancel)
    with pytest.raises(TransitionRefused, match=LEFT_IN[how]):
        late.result(30)
    assert status() == LEFT_IN[how]


@pytest.mark.parametrize("how", ["defer", "park"])
def test_a_cancel_that_waits_for_a_run_that_may_still_be_cancelled_cancels_it(race, how):
    run = running()
    with race.holding(end, run, how):
        late = race.blocked(cancel)
    late.result(30)
    assert status() == Status.CANCELLED


def test_a_cancel_that_waits_for_an_ending_that_is_taken_back_cancels(race):
    run = running()
    with race.holding(end, run, "complete", commits=False):
        late = race.blocked(cancel)
    late.result(30)
    assert status() == Status.CANCELLED
    assert end(run, "complete") is False


def test_a_checkpoint_that_waits_for_a_cancel_is_refused(race):
    run = running()
    with race.holding(cancel):
        late = race.blocked(checkpoint, run)
    assert late.result(30) is False


def test_a_cancel_that_waits_for_a_claim_cancels_the_running_run(race):
    echo.using(id="w").enqueue()
    with race.holding(claim_the_head) as runs:
        late = race.blocked(cancel)
    late.result(30)
    assert status() == Status.CANCELLED
    assert end(runs[0], "complete") is False


@pytest.mark.parametrize("commits", [True, False])
def test_a_claim_passes_over_a_row_that_is_being_cancelled(race, commits):
    echo.using(id="w").enqueue()
    with race.holding(cancel, commits=commits):
        assert race.side().do(claim_the_head) == []
    assert len(claim_the_head()) == (0 if commits else 1)


def test_two_cancels_are_one_cancel(race):
    running()
    with race.holding(cancel):
        late = race.blocked(cancel)
    with pytest.raises(TransitionRefused):
        late.result(30)
