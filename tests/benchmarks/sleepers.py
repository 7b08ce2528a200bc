"""Sleeping workflows on one worker: what they cost while they sleep, and how late they wake."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from django_durable.core.states import Status
from django_durable.models import Queue, WorkflowStatus
from tests.benchmarks.bodies import parent, sleeper
from tests.benchmarks.crew import rest, rss_mb, until, workers
from tests.benchmarks.report import Report

SLEEPERS = 100_000
ON_TIME = 200
SLOTS = 20
IDLE = 10.0


def run(quick: bool, only: Sequence[str]) -> Report:
    report = Report("sleepers")
    if not only or "asleep" in only:
        _asleep(report, SLEEPERS // (20 if quick else 1))
    if not only or "parents" in only:
        _parents(report)
    return report


def _asleep(report: Report, count: int) -> None:
    _empty()
    named = {"sleepers": count, "slots": SLOTS}
    with workers(1, f"--slots={SLOTS}") as (worker,):
        for start in range(0, count, 10_000):
            sleeper.enqueue_many([((3600,), {})] * min(10_000, count - start))
        seconds = until(lambda: _count(Status.WAITING) == count, 900, 1.0)
        report.add("sleeping", _count(Status.WAITING), "workflows", **named)
        report.add("asleep_per_s", count / seconds, "workflows/s", **named)
        report.add("rss_mb", rss_mb(worker.pid), "MiB", **named)
        before = _queries()
        rest(IDLE)
        report.add("idle_queries_per_s", (_queries() - before) / IDLE, "transactions/s", **named)
        late = _lateness()
        report.add("woken", len(late), "workflows", **named)
        report.add("late_p50_ms", late[len(late) // 2] * 1000, "ms", **named)
        report.add("late_p99_ms", late[int(len(late) * 0.99) - 1] * 1000, "ms", **named)


def _lateness() -> list[float]:
    """Seconds between the instant at which each of some workflows meant to wake and its claim, sorted."""
    sleeper.enqueue_many([((4 + number / 50,), {}) for number in range(ON_TIME)])
    ended = WorkflowStatus.objects.filter(
        completed_at__isnull=False
    )  # a question that costs the server little
    until(lambda: ended.count() == ON_TIME, 120)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM w.started_at) - s.output::float8 FROM durable_workflow_status AS w"
            " JOIN durable_step_output AS s ON s.workflow_id = w.id AND s.step = 1 WHERE w.status = 'SUCCESS'"
        )
        return sorted(float(late) for (late,) in cursor.fetchall())


def _parents(report: Report) -> None:
    """A family of parents that wait for each other, on one slot."""
    _empty()
    with workers(1, "--slots=1"):
        run = parent.enqueue(20)
        seconds = until(lambda: run.status == Status.SUCCESS, 60)
    report.add("parents_on_one_slot", seconds, "s", depth=20, slots=1)


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE durable_workflow_status, durable_step_output, durable_executor")
    Queue.objects.get_or_create(name="default")


def _count(status: str) -> int:
    return WorkflowStatus.objects.filter(status=status).count()


def _queries() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
