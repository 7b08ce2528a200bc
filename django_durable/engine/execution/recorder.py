"""The plain recorder, which sends each write at once, and the statements that record and settle.

Each write is guarded by the token of its own claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.arrays import nullable_array, plain_array, text_array
from django_durable.core.fence import Fence
from django_durable.core.outcomes import (
    Cancelled,
    Completed,
    Deferred,
    Failed,
    Outcome,
    Overtaken,
    Parked,
    Waiting,
)
from django_durable.core.states import PARKED, Status
from django_durable.core.waits import Wait
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.starts import uncount_starts
from django_durable.engine.execution.writes import Checkpoint, Ended, Ending, Receipt
from django_durable.engine.waits.suspension import suspend_all
from django_durable.engine.waits.waking import wake_waiters
from django_durable.exceptions import Superseded
from django_durable.models import database
from django_durable.models.announcing import SETTLE, announce, has_receivers, together

NOTHING: Mapping[Fence, int] = {}


class Committed:
    """The receipt for what is written already."""

    def wait(self) -> None:
        pass


class DirectRecorder:
    """Sends each write at once, in the caller's transaction if there is one."""

    def __init__(self, using: str) -> None:
        self.using = using

    def hand_over(self, checkpoint: Checkpoint) -> Receipt:
        through_outages(lambda: write_checkpoint(checkpoint, self.using), self.using)
        return Committed()

    def end(self, ending: Ending, then: Ended) -> None:
        then(bool(through_outages(lambda: write_endings([ending], self.using), self.using)))


class CommittedBefore(Exception):
    """Rolls back a try that an earlier one has committed unheard: its writes must not be there twice."""


def write_checkpoint(checkpoint: Checkpoint, using: str) -> bool:
    """Whether it is new; False: it was there, by a commit whose answer got lost. Raises Superseded."""
    written = write_checkpoints([checkpoint], using)
    if not written:
        raise Superseded(checkpoint.fence)
    return written[0]


def write_checkpoints(checkpoints: Sequence[Checkpoint], using: str) -> dict[int, bool]:
    """Record them in one statement; returns the places here of those whose run is still owned.

    The value is whether it is new.
    """
    return dict(database.fetch("record_steps", step_params(checkpoints), using))


def step_params(checkpoints: Sequence[Checkpoint]) -> dict[str, str]:
    """What the statements that record steps are asked with."""
    ids, tokens, steps, names, outputs, errors, tags, children, attempts, seconds = zip(
        *checkpoints, strict=True
    )
    return {
        "ids": text_array(ids),
        "tokens": plain_array(tokens),
        "steps": plain_array(steps),
        "names": text_array(names),
        "outputs": text_array(outputs),
        "errors": text_array(errors),
        "serializations": text_array(tags),
        "children": text_array(children),
        "attempts": plain_array(attempts),
        "seconds": plain_array(seconds),
    }


def write_endings(endings: Iterable[Ending], using: str) -> set[Fence]:
    """Write outcomes: final ones and sleeps in a statement each, deferrals one by one; returns what held."""
    settled: list[Ending] = []
    asleep: list[tuple[Fence, Wait]] = []
    held: set[Fence] = set()
    for ending in endings:
        if isinstance(ending.outcome, Deferred):
            held |= defer(ending.fence, ending.outcome, using)
        elif isinstance(ending.outcome, Waiting):
            asleep.append((ending.fence, ending.outcome.wait))
        elif not isinstance(ending.outcome, Overtaken):
            settled.append(ending)
    return held | suspend_all(asleep, using) | _settle(settled, using)


def _settle(endings: Sequence[Ending], using: str) -> set[Fence]:
    if not endings:
        return set()
    if has_receivers():
        return {fence for each in endings for fence in _settle_and_wake([each], using)}
    rows = database.fetch("settle", settle_params(endings) | {"wakes_waiters": False}, using)
    held = {endings[place].fence for place, is_left in rows if not is_left}
    if any(is_left for _, is_left in rows):
        held |= _settle_and_wake(endings, using)
    return held


def _settle_and_wake(endings: Sequence[Ending], using: str) -> set[Fence]:
    with read_committed(using), transaction.atomic(using=using):
        return settle_waking(endings, "settle", using)


def settle_waking(endings: Sequence[Ending], statement: str, using: str) -> set[Fence]:
    """Write outcomes, wake who waits for them and tell receivers, in the open transaction; raises Refused."""
    rows = database.fetch(statement, settle_params(endings) | {"wakes_waiters": True}, using)
    held = [endings[place].fence for place, _ in rows]
    ids = [fence.workflow_id for fence in held]
    wake_waiters(ids, using)
    announce(SETTLE, ids, using)
    return set(held)


def settle_params(endings: Sequence[Ending], behind: Mapping[Fence, int] = NOTHING) -> dict[str, Any]:
    """What the statements that settle are asked with, but for whether they wake waiters.

    `behind` names, for some, a step without whose record `settle_free` does not write them.
    """
    statuses, outputs, errors = zip(*[_settlement(ending.outcome) for ending in endings], strict=True)
    return {
        "ids": text_array([ending.fence.workflow_id for ending in endings]),
        "tokens": plain_array([ending.fence.token for ending in endings]),
        "statuses": text_array(statuses),
        "outputs": text_array(outputs),
        "errors": text_array(errors),
        "steps": nullable_array([behind.get(ending.fence) for ending in endings]),
    }


def _settlement(outcome: Outcome) -> tuple[str, str | None, str | None]:
    match outcome:
        case Completed(output):
            return Status.SUCCESS, output, None
        case Failed(error):
            return Status.ERROR, None, error
        case Cancelled(error):
            return Status.CANCELLED, None, error
        case Parked(error):
            return PARKED, None, error
    raise TypeError(f"{outcome!r} settles nothing")


def defer(fence: Fence, outcome: Deferred, using: str) -> set[Fence]:
    """Set the run aside for a while; returns its fence if that held."""
    params = {
        "id": fence.workflow_id,
        "token": fence.token,
        "delay": f"{outcome.seconds:.6f} seconds",
        "failures": outcome.failures,
        "forgiven": outcome.forgiven,
        "keeps_place": outcome.keeps_place,
        "error": outcome.error,
    }
    with together(using):
        if outcome.is_unbegun:
            uncount_starts([fence], using)
        deferred = [workflow_id for (workflow_id,) in database.fetch("defer", params, using)]
        announce("defer", deferred, using)
    return {fence} if deferred else set()
