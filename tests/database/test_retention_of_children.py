"""What a run that did not succeed may ask for again is kept as long as it is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_durable import step, workflow
from django_durable.core.states import Status
from django_durable.maintenance.pruner import Pruner
from django_durable.models import WorkflowStatus
from django_durable.models.database import Clock

pytestmark = pytest.mark.django_db
DAY = 86_400.0
is_down: list[bool] = []


@step
def fetch():
    if is_down:
        raise ConnectionError("the service is down")
    return 1


@workflow
def child():
    return 7


@workflow
def parent():
    started = child.enqueue()
    return fetch() + started.result()


def prune(*statuses: str) -> None:
    """All that ended so has done it long ago."""
    WorkflowStatus.objects.filter(status__in=statuses).update(completed_at=Clock() - timedelta(days=9))
    pruner = Pruner("default", dict.fromkeys(statuses, DAY))
    while pruner.run_once().runs.total():
        pass


@pytest.fixture
def failed(drain):
    is_down.append(True)
    run = parent.enqueue()
    drain()
    is_down.clear()
    assert run.status == Status.ERROR
    return run


def test_a_failed_run_that_is_kept_can_be_retried_with_the_children_that_it_started(failed, drain):
    prune("SUCCESS")
    failed.retry()
    drain()
    assert failed.result() == 8


def test_children_go_once_nobody_can_ask_for_them(failed):
    prune("SUCCESS", "ERROR")
    assert not WorkflowStatus.objects.exists()


def test_children_of_a_run_that_succeeded_go_before_it(drain):
    run = parent.enqueue()
    drain()
    WorkflowStatus.objects.filter(parent=run.id).update(completed_at=Clock() - timedelta(days=9))
    pruner = Pruner("default", {"SUCCESS": DAY})
    while pruner.run_once().runs.total():
        pass
    assert list(WorkflowStatus.objects.values_list("pk", flat=True)) == [run.id]
