"""Parents that wait for children whose places they keep."""

from __future__ import annotations

import logging

from django_durable.models import Queue

logger = logging.getLogger("django_durable.enqueue")
_looked_at: set[tuple[str, str]] = set()  # once a process and queue: it is a hint, and one query


def warn_of_starvation(parent_queue: str, child_queue: str, using: str) -> None:
    """Say once that enough parents at once would wait for ever, if they would."""
    if parent_queue != child_queue or (using, child_queue) in _looked_at:
        return
    _looked_at.add((using, child_queue))
    counting = Queue.objects.using(using).filter(pk=child_queue, waiting_holds_slot=True)
    concurrency = counting.values_list("concurrency", flat=True).first()
    if concurrency is not None:
        logger.warning(
            "in queue %r runs that wait count toward its concurrency of %s, so that many parents that wait "
            "for children in it wait for ever: start the children in another queue, or set "
            "waiting_holds_slot=False",
            child_queue,
            concurrency,
        )
