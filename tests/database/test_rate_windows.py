"""The window of a rate is a length of time: clocks put forward or back make it neither shorter nor longer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from django_durable.claim.claimer import Claimer
from django_durable.core.planning.budget import limit_bucket, partition_bucket, queue_bucket
from django_durable.maintenance.pruner import Pruner
from django_durable.models import Limit, Queue
from tests.factories import ExecutorFactory
from tests.testapp.workflows import echo

pytestmark = pytest.mark.django_db(transaction=True)

WINDOW = timedelta(days=10)
HALF_AN_HOUR = timedelta(minutes=30)
KINDS = {
    "queue": ({"rate_limit": 1, "rate_period": WINDOW}, queue_bucket("default")),
    "partition": (
        {"partition_rate_limit": 1, "partition_rate_period": WINDOW},
        partition_bucket("default", None),
    ),
    "key": ({}, limit_bucket("k")),
}


@pytest.fixture(params=["forward", "back"])
def clocks_were_put(request) -> Iterator[None]:
    """The session's time zone put its clocks by an hour five days ago."""
    days = [min((datetime.now(UTC) + timedelta(days=ahead)).timetuple().tm_yday, 365) for ahead in (-5, 100)]
    begins, ends = days if request.param == "forward" else reversed(days)
    with connection.cursor() as cursor:
        cursor.execute("SHOW TimeZone")
        (before,) = cursor.fetchone()
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [f"STD0DST,J{begins},J{ends}"])
        window = (f"{WINDOW.days} days",)
        cursor.execute("SELECT extract(epoch FROM now() - (now() - %s::interval))", window)
        assert abs(float(cursor.fetchone()[0]) - WINDOW.total_seconds()) == 3600
        yield
        cursor.execute("SELECT set_config('TimeZone', %s, false)", [before])


@pytest.fixture(params=KINDS)
def bucket(request) -> str:
    """Where the starts of a rate of one in ten days are counted."""
    limits, bucket = KINDS[request.param]
    Queue.objects.set("default", **limits)
    if not limits:
        Limit.objects.set("k", max_starts=1, per=WINDOW)
    return bucket


def start(bucket: str, ago: timedelta) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO durable_rate_start (bucket, started_at) "
            "VALUES (%s, clock_timestamp() - make_interval(secs => %s))",
            [bucket, ago.total_seconds()],
        )


def claims() -> bool:
    echo.using(limit_key="k").enqueue(1)
    return bool(Claimer(ExecutorFactory.create().id, "default").claim("default", 5).runs)


def test_a_start_counts_until_its_window_has_passed(clocks_were_put, bucket):
    start(bucket, WINDOW - HALF_AN_HOUR)
    assert not claims()


def test_a_start_does_not_count_once_its_window_has_passed(clocks_were_put, bucket):
    start(bucket, WINDOW + HALF_AN_HOUR)
    assert claims()


def test_what_a_look_at_limits_shows_is_what_a_claim_counts(clocks_were_put):
    Limit.objects.set("k", max_starts=5, per=WINDOW)
    for ago in (WINDOW - HALF_AN_HOUR, WINDOW + HALF_AN_HOUR):
        start(limit_bucket("k"), ago)
    (shown,) = Limit.objects.in_use()
    assert shown.starts == 1


def test_starts_are_pruned_when_no_window_holds_them(clocks_were_put, bucket):
    start(bucket, WINDOW - HALF_AN_HOUR)
    pruner = Pruner("default", {})
    assert pruner.run_once().starts == 0
    start(bucket, WINDOW + HALF_AN_HOUR)
    assert pruner.run_once().starts == 1
