"""How a run ended: read by handles, and awaited by bodies without holding a slot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from django_durable.core.payloads import failures
from django_durable.core.portions import portions
from django_durable.core.states import FINAL, PARKED, Status
from django_durable.core.waits import Wait
from django_durable.engine import payloads
from django_durable.engine.execution.context import WorkflowContext, required
from django_durable.engine.execution.history import replayed
from django_durable.engine.execution.operations import Operation, Raised
from django_durable.engine.execution.outages import through_outages
from django_durable.engine.execution.recorder import write_checkpoints
from django_durable.engine.execution.writes import Checkpoint
from django_durable.engine.waits.timers import seconds_of, timer
from django_durable.engine.waits.waiting import NOTHING, begin, look_until
from django_durable.exceptions import (
    ChildCancelled,
    InvalidOption,
    ResultTimeout,
    StepFailed,
    Superseded,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotFound,
    WorkflowParked,
)
from django_durable.models import WorkflowStatus

RESULT = "durable.result"
RESULT_TIMER = "durable.result.timer"


class Settled(NamedTuple):
    """What the row of a run says that has ended."""

    id: str
    status: str
    output: str | None
    error: str | None
    serialization: str

    def value(self) -> Any:
        """The body's return value; for any other end its error is raised."""
        error = self.failure(WorkflowCancelled)
        if error is not None:
            raise error
        return None if self.output is None else payloads.decode(self.output, self.serialization)

    def failure(self, cancelled: type[WorkflowCancelled]) -> BaseException | None:
        if self.status == Status.SUCCESS:
            return None
        if self.status == PARKED:
            return WorkflowParked(self.id)
        if self.status == Status.CANCELLED:
            return cancelled(
                self.id, getattr(failures.restore(self.error), "reason", "") if self.error else ""
            )
        rebuilt = payloads.decode_error(self.error or "")
        if isinstance(rebuilt, StepFailed):
            return WorkflowFailed(self.id, rebuilt.path, rebuilt.message, rebuilt.traceback)
        return rebuilt

    @property
    def _reason(self) -> str:
        """Why it was cancelled, as it was given."""
        cancelled = payloads.decode_error(self.error) if self.error else None
        return cancelled.reason if isinstance(cancelled, WorkflowCancelled) else ""


def settled(ids: Sequence[str], using: str) -> dict[str, Settled]:
    """Those of the runs that have ended, in the order in which they did; raises WorkflowNotFound."""
    ended, missing = settled_and_missing(ids, using)
    for workflow_id in missing:
        raise WorkflowNotFound(workflow_id)
    return ended


def settled_and_missing(ids: Sequence[str], using: str) -> tuple[dict[str, Settled], list[str]]:
    """Those of the runs that have ended, in the order in which they did, and the ids that no run has."""
    runs = WorkflowStatus.objects.using(using).filter(pk__in=ids).order_by("completed_at")
    rows = list(runs.values_list("id", "status", "output", "error", "serialization"))
    known = {row[0] for row in rows}
    ended = {row[0]: Settled(*row) for row in rows if row[1] in FINAL}
    return ended, [workflow_id for workflow_id in ids if workflow_id not in known]


def refuse_own(context: WorkflowContext, ids: Sequence[str], call: str) -> None:
    """A body that waits for the end of its own run would wait for ever; raises InvalidOption."""
    if context.run.id in ids:
        raise InvalidOption(
            f"workflow {context.run.id!r} waits for its own result by {call}, which could never come; "
            "wait for another run, or start the child under another id"
        )


def result(workflow_id: str, timeout: timedelta | float | None) -> Operation:
    context = required("result()")
    seconds = limit_of(timeout)
    begin(context, "result()")
    number = context.take_number()
    timer_number = 0 if seconds is None else context.take_number()
    return await_result(context, number, workflow_id, timer_number=timer_number, seconds=seconds)


def limit_of(timeout: timedelta | float | None) -> float | None:
    """Raises InvalidOption for what is no length of time."""
    return None if timeout is None else seconds_of("the timeout of result()", timeout)


def await_result(
    context: WorkflowContext,
    number: int,
    workflow_id: str,
    *,
    timer_number: int = 0,
    seconds: float | None = None,
) -> Operation:
    recorded = context.find(number, RESULT)
    if recorded is not None:
        return replayed(recorded)
    until = None if seconds is None else timer(context, timer_number, RESULT_TIMER, seconds)
    wait = Wait(runs=(workflow_id,))
    error: Exception | None
    try:
        refuse_own(context, [workflow_id], "result()")
        found = yield from look_until(context, lambda: _look(workflow_id, context.using), wait, until)
        error = None if found is not NOTHING else ResultTimeout(workflow_id, seconds or 0)
    except (WorkflowNotFound, InvalidOption) as hopeless:
        found, error = NOTHING, hopeless
    ended = [result_checkpoint(context, number, found if error is None else Raised(error), workflow_id)]
    return write_results(context, ended)[0]


def _look(workflow_id: str, using: str) -> Any:
    return through_outages(lambda: settled([workflow_id], using), using).get(workflow_id, NOTHING)


def value_or_error(row: Settled, cancelled: type[WorkflowCancelled] = ChildCancelled) -> Any:
    """The value, or the error as `Raised`."""
    error = row.failure(cancelled)
    if error is not None:
        return Raised(error)
    return None if row.output is None else payloads.decode(row.output, row.serialization)


def result_checkpoint(
    context: WorkflowContext, number: int, found: Settled | Raised, workflow_id: str
) -> Checkpoint:
    """The record of the awaited run's own payload, as it was written."""
    run = context.run
    error = found.error if isinstance(found, Raised) else found.failure(ChildCancelled)
    output, tag = (
        (None, run.serialization) if isinstance(found, Raised) else (found.output, found.serialization)
    )
    text = None if error is None else payloads.encode_error(error)
    return Checkpoint(
        run.id, run.token, number, RESULT, None if text else output, text, tag, child=workflow_id
    )


def write_results(context: WorkflowContext, checkpoints: Sequence[Checkpoint]) -> list[Any]:
    """Record results, in one statement if they are not too large; returns them as a replay would."""
    for portion in portions(checkpoints, attrgetter("size")):
        held = through_outages(partial(write_checkpoints, portion, context.using), context.using)
        if len(held) < len(portion):
            raise Superseded(context.fence)
    return [
        Raised(payloads.decode_error(checkpoint.error), (checkpoint.step,))
        if checkpoint.error is not None
        else None
        if checkpoint.output is None
        else payloads.decode(checkpoint.output, checkpoint.serialization)
        for checkpoint in checkpoints
    ]
