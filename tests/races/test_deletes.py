"""A run goes while others still tell it something: nothing of it stays behind, for a later run of its id."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_durable import control, send
from django_durable.core.states import Status
from django_durable.exceptions import WorkflowNotFound
from django_durable.maintenance.pruner import Pruner
from django_durable.models import Message, WorkflowStatus
from django_durable.models.database import Clock
from tests.factories import WorkflowFactory
from tests.races.stage import Stage


def test_a_message_under_way_to_a_run_that_is_deleted_goes_with_it(race):
    run = WorkflowFactory.create(status=Status.ERROR).id
    with race.holding(send, run, "late"):
        deletion = race.blocked(control.delete, [run])
    assert deletion.result(30) == [run]
    assert not WorkflowStatus.objects.exists()
    assert not Message.objects.exists()


def test_who_sends_to_a_run_that_is_being_deleted_is_told_that_it_is_gone(race):
    run = WorkflowFactory.create(status=Status.ERROR).id
    with race.holding(control.delete, [run]):
        sending = race.blocked(send, run, "late")
    with pytest.raises(WorkflowNotFound):
        sending.result(30)
    assert not Message.objects.exists()


def test_a_run_that_went_on_before_its_deletion_came_to_it_goes_whole_or_stays(race):
    run = WorkflowFactory.create(status=Status.ERROR).id
    with race.holding(control.retry, [run]):
        deletion = race.blocked(control.delete, [run, "another"])
    assert deletion.result(30) == []
    assert WorkflowStatus.objects.get().status == Status.ENQUEUED


def test_what_is_sent_to_a_run_that_is_pruned_finds_it_gone(race):
    run = WorkflowFactory.create(completed_at=Clock() - timedelta(days=2)).id
    stage = Stage()
    try:
        stage.enter("pruner", Pruner("default", {"SUCCESS": 60.0}).run_once)
        stage.run_to("pruner", "delete_runs")
        sending = race.blocked(send, run, "late")
        stage.finish("pruner")
    finally:
        stage.close()
    with pytest.raises(WorkflowNotFound):
        sending.result(30)
    assert not Message.objects.exists()
