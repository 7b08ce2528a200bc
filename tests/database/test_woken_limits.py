"""Runs that woke: which of them a worker takes under its own limits, and what coming back counts for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from django_durable import sleep, sql, workflow
from django_durable.claim.identity import Identity
from django_durable.core.states import Status
from django_durable.maintenance.waker import Waker
from django_durable.models import Queue, RateStart, WorkflowStatus
from django_durable.models.database import Clock
from tests.factories import ExecutorFactory, WorkflowFactory

pytestmark = pytest.mark.django_db


class Worker:
    """One that claims what woke, and nothing else."""

    def __init__(self) -> None:
        self.executor = ExecutorFactory.create().id

    def takes(self, slots: int = 10, queue: str = "woken") -> list[str]:
        mine = Identity.of(self.executor, "default").new_claim()
        return sorted(run.id for run in WorkflowStatus.objects.claim_woken(queue, slots, mine))


@pytest.fixture
def worker() -> Worker:
    return Worker()


def put(run: str, partition: str | None = None, seconds_ago: int = 5, **changes: Any) -> None:
    wake_at = Clock() - timedelta(seconds=seconds_ago)
    row = {"status": Status.WAITING, "queue": "woken", "partition_key": partition, "wake_at": wake_at}
    WorkflowFactory.create(id=run, **{**row, **changes})


def end(*runs: str) -> None:
    changes = {"status": Status.SUCCESS, "completed_at": Clock(), "claim_seq": None, "claim_token": None}
    WorkflowStatus.objects.filter(id__in=runs).update(executor=None, **changes)


@pytest.mark.parametrize("partition", [None, "a"])
def test_each_partition_of_a_worker_has_its_own_room_and_no_key_is_one(worker, partition):
    Queue.objects.set("woken", partition_worker_concurrency=1)
    for number in range(3):
        put(f"run{number}", partition, seconds_ago=9 - number)
    put("other", "other")
    assert worker.takes() == ["other", "run0"]
    assert worker.takes() == []
    end("run0")
    assert worker.takes() == ["run1"]
    assert Worker().takes() == ["run2"]


@pytest.mark.parametrize("slots", [1, 2])
def test_a_run_does_not_wait_behind_those_of_a_full_partition(worker, slots):
    Queue.objects.set("woken", partition_worker_concurrency=1)
    for number in range(4):
        put(f"a{number}", "a", seconds_ago=50 - number)
    put("b", "b")
    taken = [worker.takes(slots), worker.takes(slots), worker.takes(slots)]
    assert taken == ([["a0"], ["b"], []] if slots == 1 else [["a0", "b"], [], []])


@pytest.mark.parametrize(("ahead", "is_seen"), [(9_999, True), (10_000, False)])
def test_a_look_for_those_that_fit_has_an_end(worker, execute, ahead, is_seen):
    Queue.objects.set("woken", partition_worker_concurrency=1)
    put("running", "a", status=Status.PENDING, executor_id=worker.executor, wake_at=None)
    put("a", "a", seconds_ago=50)
    fields = [field for field in WorkflowStatus._meta.concrete_fields if not field.generated]
    copied = ", ".join(field.column for field in fields if field.column and not field.primary_key)
    execute(
        f"INSERT INTO durable_workflow_status (id, {copied}) SELECT 'a' || number, {copied} "
        "FROM durable_workflow_status AS w, generate_series(2, %s) AS number WHERE w.id = 'a'",
        ahead,
    )
    put("b", "b", seconds_ago=5)
    assert worker.takes() == (["b"] if is_seen else [])


def test_the_first_to_wake_go_first_where_partitions_are_limited(worker):
    Queue.objects.set("woken", partition_worker_concurrency=2)
    for number, partition in enumerate("abab"):
        put(f"run{number}", partition, seconds_ago=50 - number)
    assert worker.takes(2) == ["run0", "run1"]
    assert worker.takes(2) == ["run2", "run3"]


def test_what_a_worker_runs_of_a_queue_counts_whatever_its_partition(worker):
    Queue.objects.set("woken", worker_concurrency=2, partition_worker_concurrency=2)
    put("running", "a", status=Status.PENDING, executor_id=worker.executor, wake_at=None)
    for number in range(3):
        put(f"run{number}", "b", seconds_ago=50 - number)
    assert worker.takes() == ["run0"]
    assert worker.takes() == []


def test_what_another_queue_or_worker_runs_does_not_count(worker):
    Queue.objects.set("woken", worker_concurrency=1, partition_worker_concurrency=1)
    running = {"status": Status.PENDING, "wake_at": None}
    put("elsewhere", **running, queue="default", executor_id=worker.executor)
    put("of-another", **running, executor_id=ExecutorFactory.create().id)
    put("run")
    assert worker.takes() == ["run"]


@pytest.mark.parametrize("limits", [{}, {"partition_worker_concurrency": 1}])
def test_who_still_sleeps_is_not_taken_and_who_is_in_a_paused_queue_neither(worker, limits):
    Queue.objects.set("woken", **limits)
    put("asleep", seconds_ago=-60)
    assert worker.takes() == []
    put("awake")
    Queue.objects.filter(name="woken").update(paused_at=Clock())
    assert worker.takes() == []
    Queue.objects.filter(name="woken").update(paused_at=None)
    assert worker.takes() == ["awake"]


@pytest.mark.parametrize(
    ("limits", "counts"),
    [({}, False), ({"worker_concurrency": 1}, True), ({"partition_worker_concurrency": 1}, True)],
)
def test_what_a_worker_runs_is_counted_only_where_a_limit_asks(worker, execute, limits, counts):
    Queue.objects.set("woken", **limits)
    put("run")
    params = {"queue": "woken", "slots": 5, **Identity.of(worker.executor, "default").new_claim()}
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + sql.load("claim_woken"), params)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    of_own = plan.partition("CTE own")[2].partition("CTE worker")[0]
    assert ("never executed" not in of_own) is counts, plan


def test_each_wake_without_a_held_place_counts_as_a_start(drain):
    """A row in line does not say that it began before: the claim asks the rate for room, and counts it."""
    Queue.objects.create(name="loose", waiting_holds_slot=False, rate_limit=2, rate_period=timedelta(hours=1))
    sleeps = workflow(name="sleeps", queue="loose")(lambda: sleep(3600))
    run = sleeps.enqueue()
    for starts in (1, 2):
        drain()
        assert (run.status, RateStart.objects.count()) == (Status.WAITING, starts)
        WorkflowStatus.objects.filter(id=run.id).update(wake_at=Clock())
        assert Waker("default").run_once().queues == {"loose": 1}
    assert drain() == []
    assert run.status == Status.ENQUEUED


def test_a_wake_that_kept_its_place_is_no_start(drain):
    Queue.objects.create(name="tight", rate_limit=1, rate_period=timedelta(hours=1))
    sleeps = workflow(name="sleeps", queue="tight")(lambda: sleep(3600))
    run = sleeps.enqueue()
    for _ in range(3):
        drain()
        WorkflowStatus.objects.filter(id=run.id).update(wake_at=Clock())
    assert (run.status, RateStart.objects.count()) == (Status.WAITING, 1)
