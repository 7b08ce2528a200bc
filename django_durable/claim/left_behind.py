"""Runs that keep a place in the limits of their queue and that no living worker may go on with."""

from __future__ import annotations

from collections import Counter

from django_durable.core.states import Status
from django_durable.models import Executor, WorkflowStatus

MOST = 10_000  # rows that are looked at


def left_behind(queue: str, using: str) -> Counter[str]:
    """How many of each version wait while no worker of that version serves the queue."""
    versions = _versions_of_workers(queue, using)
    if None in versions:  # it takes runs of any version
        return Counter()
    waiting = WorkflowStatus.objects.using(using).filter(
        queue=queue, status=Status.WAITING, claim_seq__isnull=False, app_version__isnull=False
    )
    return Counter(waiting.exclude(app_version__in=versions).values_list("app_version", flat=True)[:MOST])


def _versions_of_workers(queue: str, using: str) -> set[str | None]:
    alive = Executor.objects.using(using).alive().values_list("app_version", "queues")
    return {version for version, queues in alive if not queues or queue in queues}
