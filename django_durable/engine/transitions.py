"""The one door for each verb that comes from outside an execution; guards are those of core.states.

Every verb takes many ids, changes those whose status allows it in one statement, and raises for a single id
that it could not change.
"""

from __future__ import annotations

from collections.abc import Sequence

from django_durable.core import failures
from django_durable.core.identifiers import check_identifier
from django_durable.core.states import sources
from django_durable.engine.notices import give_notice
from django_durable.exceptions import TransitionRefused, WorkflowCancelled, WorkflowNotFound
from django_durable.models import database
from django_durable.models.workflow import WorkflowStatus


def cancel(ids: Sequence[str], *, reason: str = "", using: str) -> list[str]:
    """Settle as CANCELLED; a running body stops at its next durable call. Returns the ids changed."""
    error = failures.describe(WorkflowCancelled(ids[0] if len(ids) == 1 else "", reason))
    return _apply("cancel", ids, {"error": error}, "cancel", using)


def resume(ids: Sequence[str], *, queue: str | None = None, using: str) -> list[str]:
    """Put cancelled, parked or queued runs in line anew, counters and deadline reset."""
    check_identifier("queue name", queue, optional=True)
    return _requeue("resume", ids, queue, using)


def retry(ids: Sequence[str], *, using: str) -> list[str]:
    """Put failed runs in line, to go on from the step that failed."""
    return _requeue("retry", ids, None, using)


def _requeue(verb: str, ids: Sequence[str], queue: str | None, using: str) -> list[str]:
    changed = _apply(verb, ids, {"queue": queue, "drops_failure": verb == "retry"}, "requeue", using)
    give_notice(using)
    return changed


def _apply(verb: str, ids: Sequence[str], params: dict[str, object], statement: str, using: str) -> list[str]:
    given = {"ids": [each for each in ids if database.is_storable(each)], "sources": sources(verb), **params}
    changed = [row[0] for row in database.fetch(statement, given, using)]
    if len(ids) == 1 and not changed:
        raise _refusal(verb, ids[0], using)
    return changed


def _refusal(verb: str, workflow_id: str, using: str) -> Exception:
    rows = WorkflowStatus.objects.using(using).filter(pk=workflow_id)
    status = rows.values_list("status", flat=True).first() if database.is_storable(workflow_id) else None
    return WorkflowNotFound(workflow_id) if status is None else TransitionRefused(verb, workflow_id, status)
