"""What a worker claimed and will not finish goes back to its place in line, as if it had not been claimed."""

from __future__ import annotations

from collections.abc import Sequence

from django_durable.core.run import Run
from django_durable.engine.launching.notices import give_notice
from django_durable.maintenance.bounded import bounded
from django_durable.models import database


def release(runs: Sequence[Run], using: str) -> set[str]:
    """Give runs back; returns the ids of those that were still owned. Their claims do not count."""
    if not runs:
        return set()
    params = {"ids": [run.id for run in runs], "tokens": [run.token for run in runs], "forgiven": 1}
    with bounded(using):
        released = {workflow_id for (workflow_id,) in database.fetch("release", params, using)}
        if released:
            give_notice(using)
    return released
