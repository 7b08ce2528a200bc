"""kill -9, in the middle of the work, with the proof that it was the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from django_durable.models import WorkflowStatus
from shop.demo.work import Done, Work
from shop.demo.worker import Worker


@dataclass(frozen=True)
class Kill:
    """Who was killed, when by the database's clock, and which workflows it was running."""

    victim: Worker
    at: datetime
    held: list[str]


def is_time(work: Work, done: Done) -> bool:
    """A quarter of the rows are in, or a third of the orders, whichever comes first."""
    return done.rows * 4 >= work.catalogue_import.rows_total or done.orders * 3 >= len(work.orders)


def strike(workers: Sequence[Worker], work: Work) -> Kill | None:
    """Kill the worker that runs the import, else any that runs something; None if none does just now.

    It is frozen first: what it holds while it cannot move is what it held when it died.
    """
    for worker in sorted(
        workers, key=lambda worker: work.catalogue_import.workflow_id not in held_by(worker)
    ):
        worker.freeze()
        held = held_by(worker)
        if held:
            at = _database_clock()
            worker.kill()
            return Kill(worker, at, held)
        worker.thaw()
    return None


def held_by(worker: Worker) -> list[str]:
    """The workflows that are running in this worker's processes."""
    running = WorkflowStatus.objects.filter(status="PENDING", executor__isnull=False).order_by(
        "started_at", "pk"
    )
    return [workflow for workflow, pid in running.values_list("pk", "executor__pid") if worker.owns(pid)]


def _database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
