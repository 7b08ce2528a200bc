"""Run a recorded workflow here against its checkpoints, writing nothing: does the code fit the history?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django_durable.core.payloads import failures
from django_durable.core.run import Run, microseconds
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.bodies import call_body
from django_durable.engine.execution.context import Recorded, WorkflowContext
from django_durable.engine.execution.recorder import Checkpoint, Ended, Ending
from django_durable.engine.execution.steps import call_step
from django_durable.engine.execution.transactions import depth
from django_durable.engine.redaction import redacted_failure, redacts
from django_durable.engine.waits.results import Settled
from django_durable.exceptions import (
    ControlFlow,
    UnexpectedStep,
    WorkflowCancelled,
    WorkflowNotFound,
)
from django_durable.models import StepOutput, WorkflowStatus


@dataclass(frozen=True, slots=True)
class Replay:
    """How far the body came. `divergence` says in words where it left its history; empty: nowhere."""

    workflow_id: str
    name: str
    steps: int  # recorded
    replayed: int
    divergence: str = ""
    stopped_at: str = ""  # the call that is not recorded yet, where it would go on for real

    @property
    def fits(self) -> bool:
        return not self.divergence


class EndOfHistory(ControlFlow):
    """The next call has no record."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(f"call {number}, {name}")


class ReplayContext(WorkflowContext):
    """Answers from the history alone, and ends the body at the first call that it lacks."""

    def find(self, number: int, name: str) -> Recorded | None:
        recorded = WorkflowContext.find(self, number, name)
        if recorded is None:
            self.broken_by = EndOfHistory(number, name)
            raise self.broken_by
        return recorded


class NoRecorder:
    """Writes nothing."""

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        raise EndOfHistory(checkpoint.step, checkpoint.name)

    def end(self, ending: Ending, then: Ended) -> None:
        raise AssertionError("a replay has no ending")


def replay(workflow_id: str, using: str) -> Replay:
    """Raises WorkflowNotFound, UnknownWorkflow, or what keeps the arguments from being read."""
    row = WorkflowStatus.objects.using(using).filter(pk=workflow_id).first()
    if row is None:
        raise WorkflowNotFound(workflow_id)
    declaration = workflows.get(row.name)
    args, kwargs = payloads.decode_call(row.input, row.serialization)
    context = ReplayContext(
        _run(row),
        _history(workflow_id, using),
        NoRecorder(),
        using,
        call_step,
        atomic_depth=depth(using),
        is_async=declaration.is_async,
    )
    divergence = stopped_at = ""
    try:
        divergence = _against(row, context, value=call_body(context, declaration, args, kwargs))
    except EndOfHistory as end:
        divergence = "" if context.is_async else _left_over(context)
        stopped_at = str(end)
    except UnexpectedStep as unexpected:
        divergence = str(unexpected)
    except BaseException as error:
        divergence = _against(row, context, error=error)
    count = sum(number > 0 for number in context.history)
    return Replay(workflow_id, row.name, count, min(context.last_step, count), divergence, stopped_at)


def _against(
    row: WorkflowStatus, context: ReplayContext, *, value: Any = None, error: BaseException | None = None
) -> str:
    """How the end of the body differs from the one that the row tells, if it tells one."""
    if left := _left_over(context):
        return left
    if row.completed_at is None or row.status == "CANCELLED":
        return ""
    settled = Settled(row.id, row.status, row.output, row.error, row.serialization)
    recorded = settled.failure(WorkflowCancelled)
    if (recorded is None) != (error is None):
        ends = [
            "it returned" if end is None else f"it raised {_shown(end, row)}" for end in (recorded, error)
        ]
        return f"when it was recorded {ends[0]}, and here {ends[1]}"
    if recorded is not None:
        same = type(recorded) is type(error)
        return "" if same else f"it raised {_shown(recorded, row)}, and here {_shown(error, row)}"
    here = payloads.encode(value, "the result", row.serialization)
    return "" if here == row.output else "it returned another value than here"


def _shown(error: BaseException | None, row: WorkflowStatus) -> str:
    if not redacts() or error is None:
        return repr(error)
    failure = redacted_failure(failures.summary(failures.describe(error)), row.name)
    return f"{failure.type}: {failure.message}"


def _left_over(context: ReplayContext) -> str:
    left = [recorded for number, recorded in sorted(context.history.items()) if number > context.last_step]
    return (
        f"the history goes on with {left[0].name!r} as number {left[0].step}, the body does not"
        if left
        else ""
    )


def _history(workflow_id: str, using: str) -> dict[int, Recorded]:
    rows = StepOutput.objects.using(using).filter(workflow_id=workflow_id)
    columns = ("step", "name", "output", "error", "serialization", "child")
    return {row[0]: Recorded(*row) for row in rows.values_list(*columns)}


def _run(row: WorkflowStatus) -> Run:
    """As a claim would hand it out, without a deadline and with a token that owns nothing."""
    return Run(
        row.id,
        uuid4(),
        row.name,
        row.queue,
        row.input,
        row.serialization,
        row.attempt,
        row.max_attempts,
        row.claims,
        row.partition_key,
        row.limit_key,
        microseconds(row.created_at),
        microseconds(datetime.now(UTC)),
        None,
        row.parent_id,
        row.headers,
        row.rank or 0,
        row.seq or 0,
        True,
    )
