"""Writes of many runs in one transaction that waits for nobody: rows that others hold locked are passed over.

A row that is missing from a statement's answer was superseded, or is locked elsewhere. Its token, read
afterwards, tells which: one that is still this execution's was only locked, and is written once it is free.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import Any, NamedTuple

from django.db import Error, OperationalError, transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.fence import Fence
from django_durable.core.outcomes import Deferred, Waiting
from django_durable.engine.execution.conflicts import is_locked
from django_durable.engine.execution.ownership import still_owned
from django_durable.engine.execution.recorder import (
    defer,
    settle_params,
    settle_waking,
    step_params,
)
from django_durable.engine.execution.writes import Checkpoint, Ending
from django_durable.engine.waits.suspension import suspend_all
from django_durable.exceptions import Refused
from django_durable.models import database
from django_durable.models.announcing import has_receivers

WriteSome = Callable[[Sequence[Ending], str], set[Fence]]

BRIEFLY = 2  # milliseconds that an ending waits for the row of a run that it wakes

logger = logging.getLogger("django_durable.outcomes")


class Written(NamedTuple):
    """What became of a batch. What is in none of them was superseded."""

    steps: Collection[int] = ()  # places of checkpoints
    ended: Set[Fence] = frozenset()
    awaited: Set[Fence] = frozenset()  # endings that are left for `settle_awaited`
    locked: Set[Fence] = frozenset()


def record_and_settle(checkpoints: Sequence[Checkpoint], endings: Sequence[Ending], using: str) -> Written:
    """In one round trip; an ending is written only after a checkpoint here of the same execution."""
    asked: list[tuple[str, dict[str, Any]]] = []
    if checkpoints:
        asked.append(("record_free_steps", step_params(checkpoints)))
    if endings:
        behind = {each.fence: each.step for each in checkpoints}
        asked.append(("settle_free", settle_params(endings, behind) | {"wakes_waiters": False}))
    answers = database.fetch_all(asked, using)
    steps: dict[int, bool] = dict(answers[0]) if checkpoints else {}
    settled = answers[-1] if endings else []
    ended = {endings[place].fence for place, is_left in settled if not is_left}
    awaited = {endings[place].fence for place, is_left in settled if is_left}
    if len(steps) + len(settled) == len(checkpoints) + len(endings):
        return Written(steps, ended, awaited)
    missing = {each.fence for place, each in enumerate(checkpoints) if place not in steps}
    missing |= {ending.fence for ending in endings} - ended - awaited
    return Written(steps, ended, awaited, still_owned(missing, using))


def settle_awaited(endings: Sequence[Ending], using: str) -> Written:
    """Outcomes that somebody waits for, announced in the transaction that writes them."""
    return _together(_settle, endings, using)


def set_aside(endings: Sequence[Ending], using: str) -> Written:
    """Sleeps and deferrals."""
    return _together(_set_aside, endings, using)


def _together(write: WriteSome, endings: Sequence[Ending], using: str) -> Written:
    """In one transaction, unless a receiver or somebody's lock would keep up all for one of them."""
    if len(endings) > 1 and not has_receivers():
        try:
            ended = write(endings, using)
        except OperationalError as error:
            if not is_locked(error):
                raise
        else:
            return Written(ended=ended, locked=still_owned(_fences(endings) - ended, using))
    return _singly(write, endings, using)


def _singly(write: WriteSome, endings: Sequence[Ending], using: str) -> Written:
    """Each in a transaction of its own."""
    ended: set[Fence] = set()
    locked: set[Fence] = set()
    for ending in endings:
        try:
            ended |= write([ending], using)
        except Refused as refused:
            logger.exception("%s; it is tried again", refused)
            locked.add(ending.fence)
        except Error as error:
            if not (ended or is_locked(error)):
                raise
            # those before it are committed, so this is raised when it is tried again
            locked.add(ending.fence)
    return Written(ended=ended, locked=locked | still_owned(_fences(endings) - ended - locked, using))


def _settle(endings: Sequence[Ending], using: str) -> set[Fence]:
    with read_committed(using), transaction.atomic(using=using):
        database.fetch("wait_briefly", {"milliseconds": str(BRIEFLY)}, using)
        return settle_waking(endings, "settle_free", using)


def _set_aside(endings: Sequence[Ending], using: str) -> set[Fence]:
    with read_committed(using), transaction.atomic(using=using):
        ids = [ending.fence.workflow_id for ending in endings]
        free = {workflow_id for (workflow_id,) in database.fetch("hold_free_runs", {"ids": ids}, using)}
        ours = [ending for ending in endings if ending.fence.workflow_id in free]
        asleep = [(fence, outcome.wait) for fence, outcome in ours if isinstance(outcome, Waiting)]
        ended = suspend_all(asleep, using)
        for fence, outcome in ours:
            if isinstance(outcome, Deferred):
                ended |= defer(fence, outcome, using)
    return ended


def _fences(endings: Iterable[Ending]) -> set[Fence]:
    return {ending.fence for ending in endings}
