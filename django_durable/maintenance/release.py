"""What a worker claimed and will not finish goes back to its place in line, as if it had not been claimed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django_durable.core.run import Run
from django_durable.engine.execution.starts import uncount_starts
from django_durable.engine.launching.notices import give_notice
from django_durable.maintenance.announced import leaving_out_the_refused
from django_durable.models import database
from django_durable.models.announcing import announce


def release(runs: Sequence[Run], using: str, unbegun: Collection[Run] = ()) -> set[str]:
    """Give runs back; returns the ids of those that were still owned. Their claims do not count.

    Of those `unbegun`, neither do the starts that rates have counted.
    """
    if not runs:
        return set()
    return leaving_out_the_refused(lambda refused: _release(runs, refused, unbegun, using), using)


def _release(runs: Sequence[Run], refused: Collection[str], unbegun: Collection[Run], using: str) -> set[str]:
    given = [run for run in runs if run.id not in refused]
    uncount_starts([run.fence for run in unbegun if run.id not in refused], using)
    params = {"ids": [run.id for run in given], "tokens": [run.token for run in given], "forgiven": 1}
    released = {workflow_id for (workflow_id,) in database.fetch("release", params, using)}
    announce("release", released, using)
    if released:
        give_notice(using)
    return released
