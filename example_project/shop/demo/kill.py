"""kill -9, in the middle of the work, with the proof that it was the middle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from django_durable.models import WorkflowStatus
from shop.demo.work import Done, Work
from shop.demo.worker import Worker

Held = dict[str, UUID]
MOMENT = 0.25  # seconds: long enough for a statement to end


@dataclass(frozen=True)
class Kill:
    """Who was killed, when by the database's clock, and which workflows it left running."""

    victim: Worker
    at: datetime
    held: list[str]


def is_time(work: Work, done: Done) -> bool:
    """A quarter of the rows are in, or a third of the orders, whichever comes first."""
    return done.rows * 4 >= work.catalogue_import.rows_total or done.orders * 3 >= len(work.orders)


def strike(workers: Sequence[Worker], work: Work) -> Kill | None:
    """Kill the worker that runs the import, else any that runs something; None if none does just now.

    It is frozen first, so that it can't finish what it holds between the look and the kill.
    """
    import_id = work.catalogue_import.workflow_id
    for worker in sorted(workers, key=lambda worker: import_id not in held_by(worker)):
        worker.freeze()
        held = held_by(worker)
        if held:
            at = _database_clock()
            worker.kill()
            return Kill(worker, at, _left_by_the_dead(held))
        worker.thaw()
    return None


def held_by(worker: Worker) -> Held:
    """The workflows that are running in this worker's processes, and the executor that each belongs to."""
    running = WorkflowStatus.objects.filter(status="PENDING", executor__isnull=False).order_by("started_at")
    rows = running.values_list("pk", "executor", "executor__pid")
    return {workflow: executor for workflow, executor, pid in rows if worker.owns(pid)}


def _left_by_the_dead(held: Held) -> list[str]:
    """What it still holds once the statements that it had sent before it froze are through.

    Nobody takes anything from it meanwhile: its lease runs for seconds yet.
    """
    left, before = dict(held), None
    while left != before:
        before = left
        time.sleep(MOMENT)
        running = WorkflowStatus.objects.filter(pk__in=left, status="PENDING")
        executors = dict(running.values_list("pk", "executor"))
        left = {pk: executor for pk, executor in left.items() if executors.get(pk) == executor}
    return list(left)


def _database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
