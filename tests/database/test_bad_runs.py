"""Runs that cannot be started, claimed in one batch with those that can."""

from __future__ import annotations

import pytest

from django_durable.core.states import Status
from django_durable.models import WorkflowStatus
from tests.drain import row
from tests.testapp.workflows import echo

DAMAGED = ["", "[]", "null", "{", '{"args": 1}', '{"args": [], "kwargs": []}', '"\\ud800"', "[" * 20_000]


@pytest.mark.parametrize("text", DAMAGED)
def test_one_run_with_damaged_arguments_ends_and_those_claimed_with_it_run(drain, text):
    runs = [echo.enqueue(number) for number in range(10)]
    WorkflowStatus.objects.filter(pk=runs[6].id).update(input=text)
    WorkflowStatus.objects.filter(pk=runs[2].id).update(name="gone.app")
    drain()
    others = [run for run in runs if run not in (runs[2], runs[6])]
    assert [run.result() for run in others] == [0, 1, 3, 4, 5, 7, 8, 9]
    assert row(runs[6]).status == Status.ERROR
    assert row(runs[6]).claim_token is None
    assert (row(runs[2]).status, row(runs[2]).claims) == (Status.DELAYED, 0)


def test_arguments_that_do_not_fit_end_one_run_of_a_batch(drain):
    runs = [echo.enqueue(number) for number in range(10)]
    WorkflowStatus.objects.filter(pk=runs[4].id).update(input='[[1, 2, 3, 4, 5], {"no": 1}]')
    drain()
    assert [row(run).status for run in runs].count(Status.SUCCESS) == 9
    assert row(runs[4]).status == Status.ERROR
