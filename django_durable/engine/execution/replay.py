"""Run a recorded workflow here against its checkpoints, writing nothing: does the code fit the history?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.utils import timezone

from django_durable.core.declaration import WorkflowDeclaration
from django_durable.core.run import Run, microseconds
from django_durable.engine import payloads
from django_durable.engine.declared import workflows
from django_durable.engine.execution.bodies import call_body
from django_durable.engine.execution.context import WorkflowContext
from django_durable.engine.execution.divergence import End, against
from django_durable.engine.execution.history import read_history
from django_durable.engine.execution.recorded import Recorded
from django_durable.engine.execution.rehearsal import Refusals, writing_nothing
from django_durable.engine.execution.steps import call_step
from django_durable.engine.execution.transactions import depth
from django_durable.engine.execution.writes import Checkpoint, Ended, Ending, Receipt
from django_durable.exceptions import ControlFlow, UnexpectedStep, WorkflowNotFound
from django_durable.models import WorkflowStatus, database


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

    is_rehearsal = True

    def find(self, number: int, name: str) -> Recorded | None:
        recorded = WorkflowContext.find(self, number, name)
        if recorded is None and not self.was_given_up(number):
            self.refuse_live(number, name)
        return recorded

    def refuse_live(self, number: int, name: str) -> None:
        self.broken_by = EndOfHistory(number, name)
        raise self.broken_by


class NoRecorder:
    """Writes nothing."""

    def hand_over(self, checkpoint: Checkpoint) -> Receipt:
        raise EndOfHistory(checkpoint.step, checkpoint.name)

    def end(self, ending: Ending, then: Ended) -> None:
        raise AssertionError("a replay has no ending")


def replay(workflow_id: str, using: str) -> Replay:
    """Raises WorkflowNotFound, UnknownWorkflow, or what keeps the arguments from being read."""
    runs = WorkflowStatus.objects.using(using).filter(pk=workflow_id)
    row = runs.first() if database.is_storable(workflow_id) else None
    if row is None:
        raise WorkflowNotFound(workflow_id)
    declaration = workflows.get(row.name)
    args, kwargs = payloads.decode_call(row.input, row.serialization)
    history = read_history(workflow_id, using)
    with writing_nothing(using) as refusals:
        context = ReplayContext(
            _run(row),
            history,
            NoRecorder(),
            using,
            call_step,
            atomic_depth=depth(using),
            is_async=declaration.is_async,
        )
        end = _end(context, declaration, args, kwargs)
    divergence = _written(refusals, context) or _divergence(row, context, end)
    stopped_at = str(end.error) if isinstance(end.error, EndOfHistory) else ""
    count = sum(number > 0 for number in history)
    return Replay(workflow_id, row.name, count, min(context.calls, count), divergence, stopped_at)


def _end(
    context: ReplayContext, declaration: WorkflowDeclaration, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> End:
    try:
        value = call_body(context, declaration, args, kwargs)
        return End(payloads.encode(value, "the result", context.run.serialization))
    except BaseException as error:
        return End(error=error)


def _written(refusals: Refusals, context: ReplayContext) -> str:
    if not refusals.statements:
        return ""
    return (
        f"after call {context.calls} the body itself writes to the database or locks rows "
        f"({refusals.statements[0]} ...), which a replay refuses: let a step do it, and replay a run of that"
    )


def _divergence(row: WorkflowStatus, context: ReplayContext, end: End) -> str:
    if isinstance(end.error, EndOfHistory):
        return "" if context.is_async else _left_over(context)
    if isinstance(end.error, UnexpectedStep) and end.error is context.broken_by:
        return str(end.error)
    return _left_over(context) or against(row, end)


def _left_over(context: ReplayContext) -> str:
    for number, recorded in sorted(context.history.items()):
        if number > 0 and not context.numbering.has_taken(number):
            return f"the history goes on with {recorded.name!r} as number {number}, the body does not"
    return ""


def _aware(instant: datetime) -> datetime:
    """Django reads instants without their zone where USE_TZ is off."""
    if timezone.is_aware(instant):
        return instant
    return timezone.make_aware(instant, timezone.get_default_timezone())


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
        microseconds(_aware(row.created_at)),
        microseconds(datetime.now(UTC)),
        None,
        row.parent_id,
        row.headers,
        row.rank or 0,
        row.seq or 0,
        True,
    )
