"""Let others take part in the transaction that writes an outcome, by the signal `transition`."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connections
from django.db.transaction import TransactionManagementError
from psycopg.pq import TransactionStatus

from django_durable.engine.execution.outages import tells_of_the_line
from django_durable.models import WorkflowStatus
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
            _refuse_what_was_swallowed(using)
        except Exception as error:
            if tells_of_the_line(error):
                raise
            raise Refused(f"a receiver of 'transition' refused the outcome of workflow {run.id!r}") from error


def _refuse_what_was_swallowed(using: str) -> None:
    connection = connections[using]
    is_broken = connection.connection.info.transaction_status == TransactionStatus.INERROR
    if connection.needs_rollback or is_broken:
        raise TransactionManagementError(
            "A receiver of the signal 'transition' swallowed an error of the database, which undoes the "
            "outcome. Let it run its statements in an atomic() of its own, or let the error pass."
        )
