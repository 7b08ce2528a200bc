"""What a run has recorded, read back."""

from __future__ import annotations

from typing import Any

from django_durable.engine import payloads
from django_durable.engine.execution.operations import Raised
from django_durable.engine.execution.recorded import Recorded
from django_durable.models import database


def read_history(workflow_id: str, using: str) -> dict[int, Recorded]:
    """Every checkpoint, by its number."""
    rows = database.fetch("read_steps", {"id": workflow_id}, using)
    return {row[0]: Recorded(*row) for row in rows}


def read_step(workflow_id: str, number: int, using: str) -> Recorded:
    """One that is known to be there."""
    (row,) = database.fetch("read_step", {"id": workflow_id, "step": number}, using)
    return Recorded(*row)


def replayed(recorded: Recorded) -> Any:
    """What the call gives again: its value, or Raised."""
    if recorded.error is not None:
        return Raised(payloads.decode_error(recorded.error, programs=True), (recorded.step,))
    return None if recorded.output is None else payloads.decode(recorded.output, recorded.serialization)
