"""A cancel that takes with it what a run started: all of it, whatever ended in between, and again."""

from __future__ import annotations

import pytest

from django_durable import control
from django_durable.core.states import FINAL, Status
from django_durable.exceptions import TransitionRefused
from django_durable.models import WorkflowStatus
from tests.factories import WorkflowFactory

pytestmark = pytest.mark.django_db


def started_by(parent, status=Status.ENQUEUED):
    return WorkflowFactory.create(status=status, parent_id=parent.id)


def status_of(run):
    return WorkflowStatus.objects.get(pk=run.id).status


@pytest.mark.parametrize("ended", sorted(FINAL - {Status.MAX_RECOVERY_ATTEMPTS_EXCEEDED}))
def test_what_was_started_by_a_child_that_has_ended_goes_too(ended):
    root = WorkflowFactory.create(status=Status.PENDING)
    middle = started_by(root, ended)
    leaf = started_by(middle)
    assert set(control.cancel([root.id], cascade=True)) == {root.id, leaf.id}
    assert (status_of(middle), status_of(leaf)) == (ended, Status.CANCELLED)


def test_a_cascade_that_broke_off_is_ended_by_saying_it_again():
    root = WorkflowFactory.create(status=Status.CANCELLED)
    child = started_by(root)
    assert control.cancel(root.id, cascade=True) == [child.id]
    assert status_of(child) == Status.CANCELLED
    with pytest.raises(TransitionRefused):
        control.cancel(root.id, cascade=True)


def test_a_tree_of_a_thousand_levels_goes_with_a_few_queries(django_assert_max_num_queries):
    run = root = WorkflowFactory.create(status=Status.WAITING)
    runs = [root]
    for _ in range(1000):
        run = started_by(run, Status.WAITING)
        runs.append(run)
    with django_assert_max_num_queries(20):
        assert set(control.cancel(root.id, cascade=True)) == {each.id for each in runs}
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.CANCELLED}


def test_a_tree_of_thousands_of_children_goes_with_a_few_queries(django_assert_max_num_queries):
    root = WorkflowFactory.create(status=Status.WAITING)
    WorkflowStatus.objects.bulk_create(
        WorkflowFactory.build(status=Status.DELAYED, parent_id=root.id, delay_until=root.created_at)
        for _ in range(3000)
    )
    with django_assert_max_num_queries(20):
        assert len(control.cancel(root.id, cascade=True)) == 3001
    assert set(WorkflowStatus.objects.values_list("status", flat=True)) == {Status.CANCELLED}


def test_ids_that_no_run_can_have_start_nothing():
    assert control.cancel(["a\0b", "nobody"], cascade=True) == []
