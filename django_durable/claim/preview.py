"""What the next claim of a queue would find: read and planned as a claim does, without a lock or a write."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django_durable.claim.identity import Identity
from django_durable.claim.usage import Meter
from django_durable.claim.windowed import WindowedClaim
from django_durable.claim.windows import LineReader
from django_durable.core.planning.oldest import Oldest
from django_durable.core.planning.stops import StoppedBy
from django_durable.models import WorkflowStatus

NOBODY = Identity(UUID(int=0))  # nothing runs there, and it may start any version
SLOTS = 100


class Preview(NamedTuple):
    """What a worker that has nothing of the queue yet, and many free slots, would start first and meet."""

    first: str | None
    stopped_by: StoppedBy


def preview(queue: str, using: str) -> Preview | None:
    """Plan as a claim at this moment would; None: nothing is in line, or the queue is paused or not there."""
    found = WorkflowStatus.objects.db_manager(using).queues_with_work([queue], NOBODY.ready)
    limits = found.get(queue)
    if limits is None or limits.paused:
        return None
    meter = Meter(queue, limits, SLOTS, executor=NOBODY.executor, using=using, oldest=Oldest())
    planner = WindowedClaim(LineReader(queue, NOBODY.ready, using), meter, NOBODY).look()
    first = planner.plan[0].id if planner.plan else None
    return Preview(first, planner.stopped_by._replace(slots=False))
