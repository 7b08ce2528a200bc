"""Ids of children: their parent's and the number of the call that starts them.

A call that a retry or a rewind drops leaves its children as they are, and the call that comes in its place
has the same number; so its children bear the first ids that are free. The parent's record of the call names
them from then on, and commits with them: a row with such an id that no record names is never this call's.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import count

from django_durable.core.identifiers import MAX_BYTES
from django_durable.models import WorkflowStatus

Place = int | None  # among the children of one call, from 1; None: its only one
IDS_A_LOOK = 1000
TIMES_A_LOOK = 100


def own_id(parent: tuple[str, int], place: Place = None, *, time: int = 1) -> str:
    """`parent-number`, from the second time on with `.time`; a digest stands for a parent's id too long."""
    starter, number = parent
    tail = f"-{number}" + (f".{time}" if time > 1 else "") + (f"-{place}" if place else "")
    if len(starter.encode()) + len(tail) <= MAX_BYTES:
        return f"{starter}{tail}"
    return f"{sha256(starter.encode()).hexdigest()}{tail}"


def free_ids(parent: tuple[str, int], places: Sequence[Place], using: str) -> list[str]:
    """One for each place, all of the first time of which none is taken."""
    time = 1
    while True:
        ids = [own_id(parent, place, time=time) for place in places]
        if not _taken(ids, using):
            return ids
        time = _next_time(parent, places[0], time, using)


def _next_time(parent: tuple[str, int], first: Place, time: int, using: str) -> int:
    """The next of which the first id is free: many times are passed over in one look."""
    for start in count(time + 1, TIMES_A_LOOK):
        ids = {own_id(parent, first, time=each): each for each in range(start, start + TIMES_A_LOOK)}
        free = [ids[each] for each in ids.keys() - _taken(list(ids), using)]
        if free:
            return min(free)
    raise AssertionError("unreachable")


def _taken(ids: Sequence[str], using: str) -> set[str]:
    runs = WorkflowStatus.objects.using(using)
    found: set[str] = set()
    for start in range(0, len(ids), IDS_A_LOOK):
        found.update(runs.filter(pk__in=ids[start : start + IDS_A_LOOK]).values_list("pk", flat=True))
    return found
