"""The same id, or the same deduplication id, from two connections: one run, and both callers learn of it."""

from __future__ import annotations

import threading

import pytest
from django.db import DataError, transaction

from django_durable.core.portions import ROWS_A_STATEMENT
from django_durable.exceptions import ConflictingWorkflow, Deduplicated
from django_durable.models import WorkflowStatus
from tests.faults import fault
from tests.races.executions import claim, end
from tests.testapp.workflows import echo, two_steps

mine = echo.using(id="same")
keyed = echo.using(deduplication_id="k")


def test_the_second_waits_for_the_first_and_gets_its_run(race):
    with race.holding(mine.enqueue, "first") as first:
        late = race.blocked(mine.enqueue, "second")
    assert late.result(30) == first
    assert '"first"' in WorkflowStatus.objects.get().input


def test_if_the_first_takes_it_back_the_second_has_its_own(race):
    with race.holding(mine.enqueue, "first", commits=False):
        late = race.blocked(mine.enqueue, "second")
    assert late.result(30).id == "same"
    assert '"second"' in WorkflowStatus.objects.get().input


def test_a_run_of_another_function_is_refused_once_the_first_committed(race):
    with race.holding(mine.enqueue, "first"):
        late = race.blocked(two_steps.using(id="same").enqueue)
    with pytest.raises(ConflictingWorkflow):
        late.result(30)


def test_a_deduplication_id_is_waited_for_and_then_taken(race):
    with race.holding(keyed.enqueue) as first:
        late = race.blocked(keyed.enqueue)
    with pytest.raises(Deduplicated, match=first.id):
        late.result(30)
    assert WorkflowStatus.objects.count() == 1


def test_a_deduplication_id_that_is_being_let_go_is_waited_for_and_had(race):
    run = keyed.enqueue()
    (claimed,) = claim()
    with race.holding(end, claimed, "complete"):
        late = race.blocked(keyed.enqueue)
    assert late.result(30).id != run.id


def test_the_callers_transaction_goes_on_after_it_lost(race):
    def lose_and_go_on():
        with transaction.atomic():
            lost = mine.enqueue("second")
            other = echo.using(id="other").enqueue()
        return lost, other

    with race.holding(mine.enqueue, "first"):
        late = race.blocked(lose_and_go_on)
    late.result(30)
    assert set(WorkflowStatus.objects.values_list("id", flat=True)) == {"same", "other"}


def test_twenty_callers_at_once_make_one_run_and_all_hold_it(race):
    gate = threading.Barrier(20)

    def enqueue(n):
        gate.wait(30)
        if n % 2:
            with transaction.atomic():
                return mine.enqueue(n)
        return mine.enqueue(n)

    handles = race.at_once([lambda n=n: enqueue(n) for n in range(20)])
    assert {handle.id for handle in handles} == {"same"}
    assert WorkflowStatus.objects.count() == 1
    assert len(claim()) == 1


def test_twenty_callers_with_one_key_make_one_run_and_the_others_are_told_which(race):
    gate = threading.Barrier(20)

    def enqueue():
        gate.wait(30)
        return keyed.enqueue()

    told = race.at_once([enqueue] * 20)
    (run,) = WorkflowStatus.objects.values_list("id", flat=True)
    assert sorted(type(each).__name__ for each in told) == ["Deduplicated"] * 19 + ["Handle"]
    assert {getattr(each, "workflow_id", run) for each in told} == {run}


def test_of_many_runs_all_are_put_in_line_or_none(transactional_db):
    last = "NEW.input LIKE '%\"last\"%'"
    calls = [((number,), {}) for number in range(ROWS_A_STATEMENT)]
    with fault("22000", times=1, verb="INSERT", condition=last), pytest.raises(DataError):
        echo.enqueue_many([*calls, (("last",), {})])
    assert not WorkflowStatus.objects.exists()
