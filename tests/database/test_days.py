"""A day is 24 hours in every length that is given, also where the clocks are put forward or back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, models

from django_durable import control
from django_durable.claim.claimer import Claimer
from django_durable.core.outcomes import Deferred
from django_durable.engine.execution.recorder import DirectRecorder
from django_durable.engine.execution.writes import Ending
from django_durable.engine.handle import Handle
from django_durable.maintenance.pruner import Pruner
from django_durable.models import Executor, WorkflowStatus
from django_durable.testing import shift
from tests.factories import ExecutorFactory, WorkflowFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = ZoneInfo("Europe/Berlin")
NEAR = timedelta(minutes=10)


def days_to_another_offset(direction: int) -> timedelta:
    """So many days that the clocks of the zone are put once on the way."""
    now = datetime.now(UTC)
    for days in range(2, 300):
        there = now + direction * timedelta(days=days)
        if there.astimezone(ZONE).utcoffset() != now.astimezone(ZONE).utcoffset():
            return timedelta(days=days + 1)
    raise AssertionError("the clocks of the zone are not put any more")


AHEAD, BACK = days_to_another_offset(1), days_to_another_offset(-1)


@pytest.fixture(autouse=True)
def _clocks_are_put() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW TimeZone")
        (before,) = cursor.fetchone()
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [ZONE.key])
        cursor.execute("SELECT extract(epoch FROM now() + %s::interval - now())", [f"{AHEAD.days} days"])
        assert abs(float(cursor.fetchone()[0]) - AHEAD.total_seconds()) == 3600
        yield
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [before])


def is_near(row: models.Model, column: str, length: timedelta) -> bool:
    """Whether the instant is so far away. The database says it: Django takes its clocks for those of UTC."""
    with connection.cursor() as cursor:
        left = f"extract(epoch FROM {column} - clock_timestamp())"
        cursor.execute(f"SELECT {left} FROM {row._meta.db_table} WHERE id = %s", [row.pk])
        return abs(float(cursor.fetchone()[0]) - length.total_seconds()) < NEAR.total_seconds()


def due_in(run: Handle, length: timedelta, column: str = "delay_until") -> bool:
    return is_near(WorkflowStatus(pk=run.id), column, length)


def test_delays_and_expiries_of_an_enqueue():
    run = echo.using(delay=AHEAD, expires_in=AHEAD).enqueue(1)
    assert due_in(run, AHEAD)
    assert due_in(run, AHEAD, "expires_at")


def test_a_delay_that_is_set_later():
    run = echo.enqueue(1)
    control.set_delay(run, delay=AHEAD)
    assert due_in(run, AHEAD)


def test_debounced_calls_and_their_longest_wait():
    echo.debounce("k", AHEAD, max_wait=AHEAD + AHEAD).enqueue(1)
    run = echo.debounce("k", AHEAD).enqueue(2)
    assert due_in(run, AHEAD)
    capped = echo.debounce("other", AHEAD + AHEAD, max_wait=AHEAD).enqueue(1)
    assert due_in(capped, AHEAD)
    echo.debounce("other", AHEAD + AHEAD).enqueue(2)
    assert due_in(capped, AHEAD)


@pytest.mark.parametrize("door", ["claim_head", "start"])
def test_a_timeout_becomes_a_deadline(door):
    run = echo.using(timeout=AHEAD).enqueue(1)
    executor = ExecutorFactory.create().id
    if door == "claim_head":
        (claimed,) = Claimer(executor, "default").claim("default", 1).runs
    else:
        from django_durable.engine.launching.local import _claim

        (claimed,) = _claim(run.id, executor, "default")
    assert claimed.id == run.id
    assert due_in(run, AHEAD, "deadline")


def test_a_run_that_is_deferred():
    run = echo.enqueue(1)
    (claimed,) = Claimer(ExecutorFactory.create().id, "default").claim("default", 1).runs
    outcome = Deferred(AHEAD.total_seconds(), failures=1)
    DirectRecorder("default").end(Ending(claimed.fence, outcome), lambda held: None)
    assert due_in(run, AHEAD)


def test_the_sql_door():
    with connection.cursor() as cursor:
        cursor.execute("SELECT durable_enqueue('testapp.echo', delay => %s)", [f"{AHEAD.days} days"])
        (run,) = cursor.fetchone()
    assert due_in(Handle(run), AHEAD)


def test_runs_are_pruned_when_their_retention_is_over():
    ended = datetime.now(UTC) - BACK
    for minutes in (-30, 30):
        WorkflowFactory.create(completed_at=ended - timedelta(minutes=minutes))
    assert Pruner("default", {"SUCCESS": BACK.total_seconds()}).run_once().runs["SUCCESS"] == 1


def test_a_lease_of_days():
    executor = ExecutorFactory.create()
    assert Executor.objects.renew(executor.id, AHEAD)
    assert is_near(executor, "lease_expires_at", AHEAD)


def test_time_that_is_let_pass():
    run = echo.using(delay=AHEAD + AHEAD).enqueue(1)
    shift(AHEAD)
    assert due_in(run, AHEAD)
