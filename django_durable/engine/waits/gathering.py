"""Waiting for several runs: all of them, or the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections

from django_durable.core.waits import Wait
from django_durable.engine.execution.context import WorkflowContext, current
from django_durable.engine.execution.effects import keep, keep_error
from django_durable.engine.execution.history import replayed
from django_durable.engine.execution.operations import Operation, Pause, Raised
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.writes import Checkpoint
from django_durable.engine.handle import Handle, id_of
from django_durable.engine.waits.results import (
    RESULT,
    Settled,
    refuse_own,
    result_checkpoint,
    settled,
    settled_and_missing,
    value_or_error,
    write_results,
)
from django_durable.engine.waits.waiting import NOTHING, begin, growing_pauses, look_until
from django_durable.exceptions import (
    InsideTransaction,
    InvalidOption,
    UnexpectedStep,
    WorkflowCancelled,
    WorkflowNotFound,
)
from django_durable.models import WorkflowStatus, database

WAIT_FIRST = "durable.wait_first"


def gather(runs: Sequence[str | Handle], *, return_exceptions: bool) -> Operation:
    """Every run's result; inside a body each is recorded under a number of its own."""
    context, ids = current(), [id_of(run) for run in runs]
    if context is None:
        return _gather_outside(ids, return_exceptions)
    begin(context, "gather()")
    refuse_own(context, ids, "gather()")
    numbers = [context.take_number() for _ in ids]
    return _gather(context, numbers, ids, return_exceptions)


def _gather(
    context: WorkflowContext, numbers: Sequence[int], ids: Sequence[str], return_exceptions: bool
) -> Operation:
    recorded = [context.find(number, RESULT) for number in numbers]
    failed = [row for row in recorded if row is not None and row.error is not None]
    if failed and not return_exceptions:
        return _all([replayed(row) for row in failed], return_exceptions)
    while not all(recorded):
        found = through_outages(lambda: _settled_or_errors(ids, context.using), context.using)
        missing = [run for run in ids if isinstance(found.get(run), Raised)]
        if missing and not return_exceptions:
            at = ids.index(missing[0])
            return write_results(context, [_checkpoint(context, numbers[at], found, ids[at])])[0]
        left = [workflow_id for workflow_id in ids if workflow_id not in found]
        if not left:
            pairs = zip(numbers, ids, strict=True)
            ended = [_checkpoint(context, number, found, run) for number, run in pairs]
            return _all(write_results(context, ended), return_exceptions, context)
        yield Wait(runs=(left[-1],))  # most likely the last to end, so that few wakes are in vain
    return _all([replayed(row) for row in recorded if row is not None], return_exceptions, context)


def _settled_or_errors(ids: Sequence[str], using: str) -> dict[str, Settled | Raised]:
    """Those that have ended; one that does not exist has ended in WorkflowNotFound."""
    ended, missing = settled_and_missing(ids, using)
    return {**ended, **{workflow_id: Raised(WorkflowNotFound(workflow_id)) for workflow_id in missing}}


def _checkpoint(
    context: WorkflowContext, number: int, found: dict[str, Settled | Raised], workflow_id: str
) -> Checkpoint:
    return result_checkpoint(context, number, found[workflow_id], workflow_id)


def _all(values: Sequence[Any], return_exceptions: bool, context: WorkflowContext | None = None) -> Any:
    failed = [value for value in values if isinstance(value, Raised)]
    if failed and not return_exceptions:
        return Raised(failed[0].error, tuple(step for value in failed for step in value.steps))
    if context is not None:
        for error, steps in failed:
            context.note_failure(error, steps)
    return [value.error if isinstance(value, Raised) else value for value in values]


def wait_first(runs: Sequence[str | Handle]) -> Operation:
    """The run that ended first, recorded inside a body."""
    context, ids = current(), [id_of(run) for run in runs]
    if not ids or len(set(ids)) < len(ids):
        raise InvalidOption("wait_first() needs one or more workflows, each once")
    if context is None:
        return _as_handle(_look_until_there(lambda: _first(ids, database.alias())))
    begin(context, "wait_first()")
    if len(ids) == 1:
        refuse_own(context, ids, "wait_first()")
    return _as_handle(_wait_first(context, context.take_number(), ids))


def _wait_first(context: WorkflowContext, number: int, ids: Sequence[str]) -> Operation:
    recorded = context.find(number, WAIT_FIRST)
    if recorded is not None:
        winner = replayed(recorded)
        if not isinstance(winner, Raised) and winner not in ids:
            context.broken_by = UnexpectedStep(
                context.run.id, number, f"{WAIT_FIRST} of {winner}", WAIT_FIRST
            )
            raise context.broken_by
        return winner
    own = WorkflowStatus.objects.using(context.using).filter(pk__in=ids, parent=context.run.id)
    are_children = through_outages(own.count, context.using) == len(ids)
    wait = Wait(runs=tuple(ids), children_only=are_children)
    try:
        found = yield from look_until(context, lambda: _first(ids, context.using), wait, None)
    except WorkflowNotFound as missing:
        return keep_error(context, number, WAIT_FIRST, missing)
    return keep(context, number, WAIT_FIRST, found)


def _first(ids: Sequence[str], using: str) -> Any:
    return next(iter(through_outages(lambda: settled(ids, using), using)), NOTHING)


def _gather_outside(ids: Sequence[str], return_exceptions: bool) -> Operation:
    found = yield from _look_until_there(lambda: _whole(ids, database.alias(), return_exceptions))
    values = [_outcome(found[workflow_id]) for workflow_id in ids]
    return _all(values, return_exceptions)


def _outcome(found: Settled | Raised) -> Any:
    return found if isinstance(found, Raised) else value_or_error(found, WorkflowCancelled)


def _look_until_there(look: Callable[[], Any]) -> Operation:
    for pause in growing_pauses():
        found = look()
        if found is not NOTHING:
            return found
        if connections[database.alias()].in_atomic_block:
            raise InsideTransaction("waiting for workflows that have not ended")
        yield Pause(pause)


def _whole(ids: Sequence[str], using: str, return_exceptions: bool) -> Any:
    found = _settled_or_errors(ids, using) if return_exceptions else settled(ids, using)
    return found if len(found) == len(set(ids)) else NOTHING


def _as_handle(operation: Operation) -> Operation:
    winner = yield from operation
    return winner if isinstance(winner, Raised) else Handle(winner)
