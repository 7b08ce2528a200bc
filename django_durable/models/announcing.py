"""The one door of the signal `transition`: others take part in the transaction that changes a status."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import transaction

from django_durable.core.run import Run
from django_durable.exceptions import Refused
from django_durable.models import database
from django_durable.models.outage import tells_of_the_line
from django_durable.models.workflow import WorkflowStatus
from django_durable.signals import transition

SETTLE = "settle"
CLAIM = "claim"


def has_receivers() -> bool:
    return bool(transition.has_listeners(WorkflowStatus))


def together(using: str) -> AbstractContextManager[Any]:
    """A transaction for a change and what receivers do about it; none where nobody listens."""
    return transaction.atomic(using=using) if has_receivers() else nullcontext()


def announce(verb: str, ids: Collection[str], using: str) -> None:
    """Tell of runs that were changed in the open transaction; raises Refused, which is to undo it."""
    if not ids or not has_receivers():
        return
    for run in WorkflowStatus.objects.using(using).filter(pk__in=ids).order_by("pk"):
        try:
            transition.send(WorkflowStatus, run=run, verb=verb)
            database.refuse_undone("outcome" if verb == SETTLE else verb, using)
        except Exception as error:
            if tells_of_the_line(error):
                raise
            raise Refused(run.id, verb) from error


def announce_claims(runs: Sequence[Run], using: str) -> None:
    """Tell of runs that were claimed in the open transaction; what a receiver raises is to undo them all."""
    if not hears_of_claims():
        return
    for run in runs:
        transition.send(Run, run=run, verb=CLAIM)
    database.refuse_undone(CLAIM, using)


def hears_of_claims() -> bool:
    return bool(transition.has_listeners(Run))
