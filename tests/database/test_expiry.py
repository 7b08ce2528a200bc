"""`expires_in` is about the start: a run that began in time goes on, whatever brings it back in line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_durable import Snooze, enqueue_by_name, sleep, step, workflow
from django_durable.core.states import Status
from django_durable.maintenance.deadlines import Deadlines
from django_durable.maintenance.release import release
from django_durable.models import WorkflowStatus
from django_durable.models.database import Clock
from django_durable.testing import shift
from tests.drain import row
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db


def let_expire():
    """The instant by which runs had to start passes; then overdue ones are ended."""
    past = Clock() - timedelta(seconds=1)
    WorkflowStatus.objects.filter(expires_at__isnull=False).update(expires_at=past)
    Deadlines("default").run_once()


def test_a_run_whose_worker_died_goes_on_after_its_expiry(drain, die_once):
    @workflow(name="dies")
    def body():
        die_once()
        return "done"

    run = body.using(expires_in=60).enqueue()
    (claimed,) = drain.claim()
    drain.run_until_death(claimed)
    drain.recover()
    let_expire()
    drain()
    assert run.result() == "done"


@pytest.mark.parametrize("end", [ValueError("again"), Snooze(1)], ids=["a retry", "a snooze"])
def test_a_run_that_is_tried_again_later_goes_on_after_its_expiry(drain, end):
    ends = [end]

    @workflow(name="tries", max_attempts=2)
    def body():
        if ends:
            raise ends.pop()
        return "done"

    run = body.using(expires_in=60).enqueue()
    drain()
    let_expire()
    assert run.status == Status.DELAYED
    drain.hasten()
    drain()
    assert run.result() == "done"


def test_a_run_that_waited_and_was_recovered_goes_on_after_its_expiry(drain):
    @workflow(name="waits")
    def body():
        sleep(3600)
        return "done"

    run = body.using(expires_in=60).enqueue()
    drain()
    shift(7200)
    drain.claim()
    drain.recover()
    let_expire()
    drain()
    assert run.result() == "done"


def test_a_run_given_back_at_a_stop_goes_on_if_anything_of_it_is_recorded(drain):
    @step
    def first():
        return 1

    @workflow(name="stopped")
    def body():
        first()
        die()
        return "done"

    def die():
        if run.record.claims == 1:
            raise SystemExit

    run = body.using(expires_in=60).enqueue()
    (claimed,) = drain.claim()
    drain.run_until_death(claimed)
    release([claimed], "default")
    let_expire()
    assert run.status == Status.ENQUEUED
    fresh = echo.using(expires_in=60).enqueue(1)
    release(drain.claim(slots=2)[1:], "default")
    let_expire()
    assert fresh.status == Status.CANCELLED


def test_a_run_whose_code_nobody_has_expires_though_it_was_claimed(drain):
    run = enqueue_by_name("elsewhere.code")
    WorkflowStatus.objects.update(expires_at=Clock() + timedelta(seconds=60))
    drain()
    assert row(run).status == Status.DELAYED
    let_expire()
    assert row(run).status == Status.CANCELLED
