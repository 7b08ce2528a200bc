"""Management of runs and queues: the door that the admin, the commands and operators use."""

from __future__ import annotations

from collections.abc import Iterable

from django_durable.engine import transitions
from django_durable.models import Queue, database


def cancel(ids: Iterable[str], *, reason: str = "") -> list[str]:
    """Cancel runs; returns the ids that were cancelled. One id alone raises if it cannot be."""
    return transitions.cancel(list(ids), reason=reason, using=database.alias())


def resume(ids: Iterable[str], *, queue: str | None = None) -> list[str]:
    """Put cancelled, parked or queued runs in line; returns the ids that were."""
    return transitions.resume(list(ids), queue=queue, using=database.alias())


def retry(ids: Iterable[str]) -> list[str]:
    """Put failed runs in line, to go on from the step that failed; returns the ids that were."""
    return transitions.retry(list(ids), using=database.alias())


def pause(queues: Iterable[str]) -> int:
    """Stop claims from these queues; what runs goes on. Returns how many were not paused before."""
    return Queue.objects.using(database.alias()).filter(pk__in=list(queues)).pause()


def unpause(queues: Iterable[str]) -> int:
    """Let claims take from these queues again. Returns how many were paused."""
    return Queue.objects.using(database.alias()).filter(pk__in=list(queues)).unpause()
