"""Let failed runs go on from the step that failed: what led to their end is dropped, to be done again.

A child whose recorded failure is dropped goes on as well, from its own step that failed, and so do its
children. One that was cancelled or parked does not: that was somebody's decision, or needs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice

from django_durable.core.payloads import failures
from django_durable.core.states import sources
from django_durable.engine.execution.origins import Origin
from django_durable.models import database
from django_durable.models.announcing import announce

RUNS_A_STATEMENT = 1000

Origins = Mapping[str, Origin | None]


def origin_in(error: str | None) -> Origin | None:
    """What the record of a run's error says of its origin; None if it says nothing."""
    return None if error is None else Origin.read(failures.beside(error).get("origin"))


def go_on(origins: Origins, using: str, *, delay: timedelta | None = None) -> None:
    """Drop, generation by generation; children begin after `delay`. The runs' rows are held by the caller.

    Of a run whose origin is not known, the failures that no success followed are dropped.
    """
    while origins:
        cuts = [database.fetch("cut_history", _cuts(part), using) for part in _parts(origins)]
        origins = _put_in_line([child for found in cuts for (child,) in found], delay, using)


def _parts(origins: Origins) -> Iterator[Origins]:
    """So few runs that a plan made without statistics costs little."""
    left = iter(origins.items())
    while part := dict(islice(left, RUNS_A_STATEMENT)):
        yield part


def _cuts(origins: Origins) -> dict[str, object]:
    failed = [(run, step) for run, origin in origins.items() if origin for step in origin.steps]
    return {
        "ids": list(origins),
        "steps": [None if origin is None else origin.then for origin in origins.values()],
        "failed_ids": [run for run, _ in failed],
        "failed_steps": [step for _, step in failed],
    }


def _put_in_line(children: list[str], delay: timedelta | None, using: str) -> Origins:
    if not children:
        return {}
    params = {"ids": children, "queue": None, "of_parents": True, "sources": sources("retry")}
    rows = database.fetch("requeue", params, using)
    going_on = [workflow_id for workflow_id, _ in rows]
    announce("retry", going_on, using)
    if delay is not None and rows:
        later = {"ids": going_on, "delay": delay, "run_at": None, "sources": sources("postpone")}
        database.fetch("postpone", later, using)
        announce("postpone", going_on, using)
    return {workflow_id: origin_in(error) for workflow_id, error in rows}
