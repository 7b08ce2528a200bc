"""What `run_queues` deletes when `DURABLE["RETENTION"]` says how long ended runs are kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command

from django_durable import recv, send, workflow
from django_durable.core.states import Status
from django_durable.maintenance.pruner import Pruner
from django_durable.models import StepOutput, WorkflowStatus
from django_durable.models.database import Clock
from django_durable.worker.upkeep import PRUNE_INTERVAL, Prune
from tests.factories import StepFactory, WorkflowFactory
from tests.testapp.workflows import echo

DAY = 86_400.0


def ended(days, status=Status.SUCCESS):
    run = WorkflowFactory.create(status=status, completed_at=Clock() - timedelta(days=days))
    StepFactory.create(workflow=run)
    return run.id


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("options", [[], ["--no-maintenance"]], ids=["a worker", "one without maintenance"])
def test_a_worker_deletes_what_was_kept_long_enough(settings, options):
    settings.DURABLE = {"RETENTION": {"SUCCESS": 7 * DAY, "ERROR": None}}
    old, young, failed = ended(8), ended(6), ended(90, Status.ERROR)
    run = echo.enqueue(1)
    call_command("run_queues", "--burst", *options)
    kept = {young, failed, run.id} | ({old} if options else set())
    assert set(WorkflowStatus.objects.values_list("id", flat=True)) == kept
    assert set(StepOutput.objects.values_list("workflow_id", flat=True)) == kept - {run.id}


@pytest.mark.django_db
def test_a_child_is_kept_until_its_parent_has_ended(drain):
    @workflow
    def child():
        return 7

    @workflow
    def parent():
        started = child.enqueue()
        recv("go on")
        return started.result()

    run = parent.enqueue()
    drain()
    WorkflowStatus.objects.filter(parent=run.id).update(completed_at=Clock() - timedelta(days=9))
    pruner = Pruner("default", {"SUCCESS": DAY})
    assert not pruner.run_once().runs.total()

    send(run.id, None, "go on")
    drain()
    assert run.result() == 7
    assert pruner.run_once().runs.total() == 1
    assert not WorkflowStatus.objects.filter(parent=run.id).exists()


@pytest.mark.django_db
def test_a_backlog_is_deleted_without_a_rest_and_then_it_is_looked_at_now_and_then():
    for _ in range(5):
        ended(8)
    pruning = Prune(Pruner("default", {"SUCCESS": DAY}, batch=2))
    rests = [pruning.tick() for _ in range(3)]
    assert rests[:2] == [0.0, 0.0]
    assert rests[2] == pytest.approx(PRUNE_INTERVAL, rel=0.1)
    assert not WorkflowStatus.objects.exists()
