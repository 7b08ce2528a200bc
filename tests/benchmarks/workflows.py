"""Workflows of five steps through whole worker processes of 100 slots, and one workflow of many steps alone.

Processes run where the system puts them, and each kept on one core (`--core`).

Time runs by the database's clock, without the start-up of processes: from the commit of the enqueue, by
which all runs stand in line, or from the start of the one, to the last end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Max

from django_durable.core.states import Status
from django_durable.models import Queue, StepOutput, WorkflowStatus
from tests.benchmarks.bodies import STEPS, steps
from tests.benchmarks.crew import until, workers
from tests.benchmarks.report import Report

RUNS = 5_000
ALONE = 2_000
SLOTS = 100
GLANCE = 0.1  # seconds between looks at what is left: each counts the table, on the cores that are measured


def run(quick: bool, only: Sequence[str]) -> Report:
    report = Report("workflows")
    for processes in (1, 2):
        if not only or str(processes) in only:
            for kept in (True, False):
                _many(report, RUNS // (5 if quick else 1), processes, kept)
    if not only or "alone" in only:
        _alone(report, ALONE // (5 if quick else 1))
    return report


def _many(report: Report, runs: int, processes: int, kept: bool) -> None:
    _empty()
    with workers(processes, f"--slots={SLOTS}", *(["--core={number}"] if kept else [])):
        until(lambda: _executors() == processes, 60)
        steps.enqueue_many([((STEPS,), {})] * runs)
        enqueued_at = _now()
        until(lambda: _left() == 0, 300, GLANCE)
    seconds = (_last_end() - enqueued_at).total_seconds()
    named = {"runs": runs, "steps": STEPS, "processes": processes, "slots": SLOTS, "kept_on_a_core": kept}
    report.add("workflows_per_s", runs / seconds, "workflows/s", **named)
    report.add("steps_per_s", runs * STEPS / seconds, "steps/s", **named)


def _alone(report: Report, count: int) -> None:
    _empty()
    with workers(1, "--slots=1"):
        until(lambda: _executors() == 1, 60)
        steps.enqueue(count)
        until(lambda: _left() == 0, 300, GLANCE)
    seconds = (_last_end() - WorkflowStatus.objects.get().started_at).total_seconds()
    report.add("steps_per_s", count / seconds, "steps/s", runs=1, steps=count, processes=1, slots=1)


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE durable_workflow_status, durable_step_output, durable_executor")
    Queue.objects.get_or_create(name="default")


def _executors() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM durable_executor")
        return int(cursor.fetchone()[0])


def _left() -> int:
    return WorkflowStatus.objects.exclude(status__in=[Status.SUCCESS, Status.ERROR]).count()


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return now


def _last_end() -> datetime:
    assert StepOutput.objects.exists()
    return WorkflowStatus.objects.aggregate(last=Max("completed_at"))["last"]
