"""The checkpoints of one run as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from django_durable.admin.moments import length, second
from django_durable.admin.payloads import Payload
from django_durable.core.payloads.failures import Failure
from django_durable.models import StepOutput, WorkflowStatus

MOST = 500  # rows on a page
LONGEST_RESULT = 2_000
LONGEST_ERROR = 100_000


@dataclass(frozen=True)
class StepRow:
    """One recorded step; `result` is None where the reader may not see it or the step failed."""

    number: int
    name: str
    result: str | None
    failure: Failure | None
    child: str | None
    attempts: int
    began: SafeString | str
    duration: str


def step_rows(run: WorkflowStatus, using: str, *, with_results: bool) -> list[StepRow]:
    """The first steps of the run, one more than are shown if there are more."""
    steps = StepOutput.objects.using(using).filter(workflow_id=run.pk).order_by("step")
    columns = {**Payload.columns("output", LONGEST_RESULT), **Payload.columns("error", LONGEST_ERROR)}
    found = steps.defer("output", "error").annotate(**columns)[: MOST + 1]
    return [_row(run.name, step, with_results) for step in found]


def _row(workflow: str, step: Any, with_results: bool) -> StepRow:
    output, error = Payload.of(step, "output"), Payload.of(step, "error")
    return StepRow(
        number=step.step,
        name=step.name,
        result=output.text(workflow, "output", step.name) if output and with_results else None,
        failure=error.failure(workflow, step.name) if error else None,
        child=step.child,
        attempts=step.attempts,
        began=second(step.started_at),
        duration=length(step.completed_at - step.started_at),
    )
