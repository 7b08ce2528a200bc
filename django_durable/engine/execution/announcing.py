"""Let others take part in the transaction that writes an outcome, by the signal `transition`."""

from __future__ import annotations

from collections.abc import Collection

from django_durable.engine.execution.outages import tells_of_the_line
from django_durable.models import WorkflowStatus, database
from django_durable.signals import transition

SETTLE = "settle"


class Refused(Exception):
    """A receiver raised: the outcome is not written, which is the fault of no value and no connection."""


def has_receivers() -> bool:
    return bool(transition.has_listeners(WorkflowStatus))


def announce(ids: Collection[str], using: str) -> None:
    """Tell of runs that were settled in the open transaction; raises Refused, which is to undo it."""
    for run in WorkflowStatus.objects.using(using).filter(pk__in=ids).order_by("pk"):
        try:
            transition.send(WorkflowStatus, run=run, verb=SETTLE)
            database.refuse_undone("outcome", using)
        except Exception as error:
            if tells_of_the_line(error):
                raise
            raise Refused(f"a receiver of 'transition' refused the outcome of workflow {run.id!r}") from error
