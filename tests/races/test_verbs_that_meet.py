"""Verbs that meet each other, or who reads: none fails for it, and what each sees fits together."""

from __future__ import annotations

import pytest
from django.db import connection

from django_durable import control
from django_durable.core.states import Status
from django_durable.engine.handle import Handle
from django_durable.exceptions import WorkflowCancelled
from django_durable.models import StepOutput, WorkflowStatus
from tests.factories import StepFactory, WorkflowFactory
from tests.races.stage import Stage


@pytest.fixture
def stage(transactional_db):
    stage = Stage()
    yield stage
    stage.close()


def hold(run):
    return list(WorkflowStatus.objects.select_for_update().filter(pk=run))


def let_others_be_given_up():
    """Who looks for a deadlock first is its victim."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL deadlock_timeout = '20s'")


@pytest.mark.parametrize(
    "verb",
    [
        lambda ids: control.cancel(ids),
        lambda ids: control.resume(ids),
        lambda ids: control.set_priority(ids, 7),
        lambda ids: control.set_delay(ids, delay=60),
    ],
    ids=["cancel", "resume", "set_priority", "set_delay"],
)
def test_a_verb_that_is_the_victim_of_a_deadlock_is_tried_again(race, verb):
    first, second = (WorkflowFactory.create(status=Status.ENQUEUED, id=name).id for name in "ab")
    rival, ours = race.side(), race.side()
    rival.begin()
    rival.do(let_others_be_given_up)
    rival.do(hold, second)
    late = ours.blocked(verb, [first, second])
    rival.do(hold, first)
    rival.commit()
    assert late.result(30) == [first, second]


def test_a_copy_has_its_history_though_its_original_is_deleted_meanwhile(stage):
    run = WorkflowFactory.create(status=Status.ERROR).id
    for number in (1, 2):
        StepFactory.create(workflow_id=run, step=number)
    stage.enter("fork", lambda: control.fork(run, from_step=3))
    stage.run_to("fork", "fork")
    stage.step("fork")
    control.delete(run)
    stage.finish("fork")
    (copy,) = stage.results["fork"]
    assert StepOutput.objects.filter(workflow_id=copy).count() == 2


def test_who_waits_for_the_result_of_a_run_that_goes_on_waits_on(stage):
    run = WorkflowFactory.create(status=Status.ERROR).id
    stage.enter("reader", Handle(run).result)
    stage.step("reader")
    control.retry(run)
    control.cancel(run, reason="enough")
    with pytest.raises(WorkflowCancelled, match="enough"):
        stage.finish("reader")


def test_who_read_an_end_that_was_taken_back_waits_for_the_next(stage):
    run = WorkflowFactory.create(status=Status.ERROR).id
    stage.enter("reader", Handle(run).result)
    stage.step("reader")
    control.retry(run)
    stage.step("reader")
    control.cancel(run, reason="enough")
    with pytest.raises(WorkflowCancelled, match="enough"):
        stage.finish("reader")
