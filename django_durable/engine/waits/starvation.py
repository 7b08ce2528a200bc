"""Parents that wait for children whose places they keep."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

from django_durable.models import Queue, WorkflowStatus

logger = logging.getLogger("django_durable.enqueue")
_told: set[tuple[str, str]] = set()  # once a process and queue: it is a hint


def warn_of_starvation(queue: str, awaited: Sequence[str], using: str) -> None:
    """Say once that runs of this queue that wait for others of it wait for ever, if there are enough."""
    if not awaited or (using, queue) in _told:
        return
    concurrency = _counting_those_that_wait(queue, using)
    if concurrency is None:
        return
    if WorkflowStatus.objects.using(using).filter(pk__in=awaited, queue=queue).exists():
        _told.add((using, queue))
        logger.warning(
            "in queue %r runs that wait count toward its concurrency of %s, so that many parents that wait "
            "for children in it wait for ever: start the children in another queue, or set "
            "waiting_holds_slot=False",
            queue,
            concurrency,
        )


@lru_cache(maxsize=1000)
def _counting_those_that_wait(queue: str, using: str) -> int | None:
    """The concurrency of the queue, if they count; as it was when it was first asked for."""
    counting = Queue.objects.using(using).filter(pk=queue, waiting_holds_slot=True)
    return counting.values_list("concurrency", flat=True).first()
