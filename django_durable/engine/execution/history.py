"""What a run has recorded, read back."""

from __future__ import annotations

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
