"""Which keys and partitions have no room, learned of all at once.

Counting one after the other, as windows bring them, is quick where few are full. Where many are, a claim that
met some of them asks for all, and then neither reads their rows nor walks their groups.
"""

from __future__ import annotations

from typing import Any

from django_durable.core.planning.budget import SEPARATOR, QueueLimits, limit_bucket, limited_keys
from django_durable.core.planning.oldest import Oldest
from django_durable.models import database

MANY = 20  # met so far that are full: there are likely more
MOST_LIMITS = 2000  # looked at, about a microsecond each


def full_keys(oldest: Oldest, using: str) -> list[str]:
    """The limit keys without room, of all queues."""
    known = _likely_first(limited_keys(oldest.buckets))
    asked = {
        "most": MOST_LIMITS,
        "keys": SEPARATOR.join(known),
        "oldest": SEPARATOR.join(str(oldest.of(limit_bucket(key))) for key in known),
    }
    ((joined, firsts),) = database.fetch("full_keys", asked, using)
    if joined is None:
        return []
    keys: list[str] = joined.split(SEPARATOR)
    for key, first in zip(keys, firsts.split(SEPARATOR), strict=True):
        if first:
            oldest.note(limit_bucket(key), int(first))
    return keys


def _likely_first(keys: list[str]) -> list[str]:
    """Of more keys than are looked at, those first by name; one that is left out is counted from nothing."""
    return keys if len(keys) <= MOST_LIMITS else sorted(keys)[:MOST_LIMITS]


def full_partitions(limits: QueueLimits, counted: dict[str, Any], using: str) -> list[str | None]:
    """The partitions of a queue that have in flight what they may, in the fleet or in this worker."""
    asked = {"of_fleet": limits.partition_concurrency, "of_worker": limits.partition_worker_concurrency}
    ((joined,),) = database.fetch("full_partitions", {**counted, **asked}, using)
    return [] if joined is None else [name or None for name in joined.split(SEPARATOR)]
