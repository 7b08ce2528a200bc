"""How the end of a replayed body differs from the one that its row tells, in words."""

from __future__ import annotations

from typing import NamedTuple

from django_durable.core.payloads import failures
from django_durable.core.states import Status
from django_durable.engine import payloads
from django_durable.engine.redaction import redacted_failure, redacts
from django_durable.engine.waits.results import Settled
from django_durable.exceptions import StepFailed, WorkflowCancelled
from django_durable.models import WorkflowStatus


class End(NamedTuple):
    """How the body ended here."""

    output: str | None = None
    error: BaseException | None = None


def against(row: WorkflowStatus, end: End) -> str:
    """Empty: not at all, or the row tells none."""
    if row.status not in (Status.SUCCESS, Status.ERROR):
        return ""  # it goes on, or something else than its body ended it
    settled = Settled(row.id, row.status, row.output, row.error, row.serialization)
    recorded = settled.failure(WorkflowCancelled)
    if recorded is not None and end.error is not None:
        same = failures.summary(row.error or "").type in _types(end.error)
        return "" if same else f"it raised {_shown(recorded, row)}, and here {_shown(end.error, row)}"
    if recorded is not None or end.error is not None:
        ends = [
            "it returned" if error is None else f"it raised {_shown(error, row)}"
            for error in (recorded, end.error)
        ]
        return f"when it was recorded {ends[0]}, and here {ends[1]}"
    return "" if _same_value(end.output, row) else "it returned another value than here"


def _types(error: BaseException) -> set[str]:
    """Its own, and that of the error whose record it is read from, which was itself when it was recorded."""
    own = failures.summary(failures.describe(error)).type
    return {own, error.path} if isinstance(error, StepFailed) else {own}


def _same_value(output: str | None, row: WorkflowStatus) -> bool:
    """By the text, since a value may equal nothing, or by the value, since a set is written in any order."""
    if output is None or row.output is None or output == row.output:
        return output == row.output
    return bool(payloads.decode(output, row.serialization) == payloads.decode(row.output, row.serialization))


def _shown(error: BaseException | None, row: WorkflowStatus) -> str:
    if not redacts() or error is None:
        return repr(error)
    failure = redacted_failure(failures.summary(failures.describe(error)), row.name)
    return f"{failure.type}: {failure.message}"
