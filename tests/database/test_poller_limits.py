"""A queue that a limit holds back: when its poller comes back to it, and what it says of it."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_durable.core.planning.budget import limit_bucket, partition_bucket, queue_bucket
from django_durable.models import Limit, Queue, RateStart
from django_durable.models.database import Clock
from django_durable.worker.polling.bell import Bell
from tests.database.test_poller import LONGEST, Watch, ready
from tests.factories import QueueFactory
from tests.sent import texts

pytestmark = pytest.mark.django_db

SECONDS = 5
KINDS = ["queue", "partition", "key"]


def allow(kind: str, starts: int, seconds: float) -> str:
    """Limit the starts of what `line` puts in line; gives the bucket that they are counted in."""
    period = timedelta(seconds=seconds)
    if kind == "key":
        Limit.objects.set("k", max_starts=starts, per=period)
        return limit_bucket("k")
    prefix = "" if kind == "queue" else "partition_"
    Queue.objects.set("default", **{f"{prefix}rate_limit": starts, f"{prefix}rate_period": period})
    return queue_bucket("default") if kind == "queue" else partition_bucket("default", "p")


def line(count: int) -> None:
    ready(count, partition_key="p", limit_key="k")


def started(bucket: str, *seconds_ago: float) -> None:
    for ago in seconds_ago:
        RateStart.objects.create(bucket=bucket, started_at=Clock() - timedelta(seconds=ago))


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_when_the_window_has_room(kind):
    bucket = allow(kind, 3, 60)
    started(bucket, 50, 20, 10)
    line(1)
    watch = Watch(slots=5, interval=100.0)
    assert 9 < watch.tick() <= 10
    assert watch.taken == []


@pytest.mark.parametrize("kind", KINDS)
def test_where_more_were_started_than_are_allowed_now_that_is_later(kind):
    bucket = allow(kind, 2, 60)
    started(bucket, 50, 20, 10)
    line(1)
    assert 39 < Watch(slots=5, interval=100.0).tick() <= 40


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_no_later_than_its_interval(kind):
    started(allow(kind, 1, 3600), 1)
    line(1)
    assert 9 < Watch(slots=5, interval=10.0).tick() <= 10.5


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_window_is_used_whenever_it_opens(kind):
    allow(kind, 2, 0.05)
    line(8)
    watch = Watch(slots=8, interval=100.0)
    bell, began, rest = Bell(), time.monotonic(), 0.0
    while len(watch.taken) < 8 and time.monotonic() < began + LONGEST:
        bell.wait(min(rest, SECONDS))
        rest = watch.tick()
    assert len(watch.taken) == 8
    assert 0.15 < time.monotonic() - began < SECONDS


def test_between_two_windows_it_asks_nothing(django_assert_num_queries):
    started(allow("queue", 1, 60), 30)
    line(2)
    watch = Watch(slots=5, interval=100.0)
    watch.tick()
    with django_assert_num_queries(0):
        assert 29 < watch.tick() <= 30


def test_of_other_limits_no_window_is_asked_for():
    Queue.objects.set("default", concurrency=1)
    ready(2)
    watch = Watch(slots=5, interval=100.0)
    with CaptureQueriesContext(connection) as asked:
        watch.tick()
        watch.poller.look()
        watch.tick()
    assert len(watch.taken) == 1
    assert not [text for text in texts(asked.captured_queries) if "durable_rate_start" in text]


def test_what_holds_a_queue_back_is_logged_when_it_changes(caplog):
    Queue.objects.set("default", concurrency=1)
    ready(2)
    watch = Watch(slots=5, interval=100.0)
    with caplog.at_level(logging.DEBUG, "django_durable.worker"):
        for _ in range(3):
            watch.poller.look()
            watch.tick()
        Queue.objects.set("default", concurrency=None)
        watch.poller.look()
        watch.tick()
    told = [record.by for record in caplog.records if record.event == "held_back"]
    assert told == ["the limits of the queue", ""]


def test_the_end_of_a_run_lets_the_queues_go_on_that_wait_for_its_key():
    Limit.objects.set("k", max_running=1)
    for queue in ("first", "second"):
        QueueFactory(name=queue)
        ready(1, queue=queue, limit_key="k")
    watch = Watch(slots=5, interval=100.0)
    watch.tick()
    (run,) = watch.pool.owned
    watch.pool.end(run)
    watch.tick()
    assert {run.queue, *watch.taken} == {"first", "second"}


def test_a_queue_that_waits_for_something_else_is_left_alone():
    Limit.objects.set("k", max_starts=1, per=3600)
    QueueFactory(name="other")
    ready(2, queue="other", limit_key="k")
    ready(1, limit_key="free")
    watch = Watch(slots=5, interval=100.0)
    watch.tick()
    free = next(run for run in watch.pool.owned if run.queue == "default")
    watch.pool.end(free)
    assert not watch.poller._queues["other"].is_hungry
