"""Begin a claim in one round trip: the queue's limits, behind its lock if need be, its counts, first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django_durable.core.planning.budget import QueueLimits
from django_durable.models import database

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Opening:
    """What the first answers say; `limits` None: a peer holds the queue's row, or there is no such queue.

    `in_flight` holds rows by group where turns are fair, else one row of sums; `first` are the answers to
    what the reader of the line asked ahead.
    """

    limits: QueueLimits | None
    in_flight: Rows | None
    first: list[Rows]


def open_queue(
    queue: str,
    known: QueueLimits,
    counted: Mapping[str, Any],
    first: Sequence[database.Asked],
    using: str,
    *,
    patience: float | None = None,
) -> Opening:
    """Ask what the limits, as they were last known, make worth asking, and then what the reader asks `first`.

    `counted`: what the statements that count the queue are asked with.
    With `patience`, in seconds, wait for peers first; raises OperationalError 55P03 if that takes longer.
    """
    counts = "in_flight" if known.fair else "count_in_flight" if known.counts_in_flight else None
    asked: list[database.Asked] = [
        ("lock_queue" if known.has_fleet_budget else "read_queue", {"queue": queue})
    ]
    if patience is not None:
        waiting = {"queue": queue, "patience": f"{patience * 1000:.0f}ms"}
        asked.insert(0, ("wait_for_peers", waiting))
    if counts is not None:
        asked.append((counts, counted))
    answers = database.fetch_all([*asked, *first], using)[patience is not None :]
    limits, *others = answers
    return Opening(
        limits=QueueLimits(*limits[0]) if limits else None,
        in_flight=others.pop(0) if counts is not None else None,
        first=others,
    )
