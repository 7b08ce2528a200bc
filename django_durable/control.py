"""Management of runs and queues: the door that the admin, the commands and operators use.

A verb takes many ids, changes the runs whose status allows it and returns their ids; for one id alone it
raises WorkflowNotFound or TransitionRefused. Called in a workflow body, each is a recorded step. Each has an
async twin with the prefix `a`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from django_durable.core.identifiers import check_priority
from django_durable.core.options import Options
from django_durable.engine import listing, transitions
from django_durable.engine.execution import replay as replaying
from django_durable.engine.execution.context import refuse_inside
from django_durable.engine.execution.drive import twin
from django_durable.engine.execution.replay import Replay
from django_durable.engine.handle import Handle
from django_durable.engine.listing import Counts, Filters
from django_durable.models import AppVersion, Queue, WorkflowStatus, database
from django_durable.models.database import Clock

__all__ = ["Counts", "Filters"]


def cancel(ids: Iterable[str], *, reason: str = "", cascade: bool = False) -> list[str]:
    """Cancel runs that have not ended, and with `cascade` those they started.

    A body whose own run is among them ends there, once the others are cancelled.
    """
    changed: list[str] = transitions.managed_cancel(
        list(ids), reason=reason, cascade=cascade, using=database.alias()
    )
    return changed


def resume(ids: Iterable[str], *, queue: str | None = None) -> list[str]:
    """Put cancelled, parked or queued runs in line, of another queue if it is given."""
    given = list(ids)
    return _do("resume", lambda using: transitions.resume(given, queue=queue, using=using))


def retry(ids: Iterable[str]) -> list[str]:
    """Put failed runs in line, to go on from the step that failed."""
    given = list(ids)
    return _do("retry", lambda using: transitions.retry(given, using=using))


def rewind(ids: Iterable[str], *, to_step: int) -> list[str]:
    """Put runs that ended in line, their history from `to_step` on cut away."""
    given = list(ids)
    return _do("rewind", lambda using: transitions.rewind(given, to_step=to_step, using=using))


def fork(
    ids: Iterable[str], *, from_step: int = 1, new_id: str | None = None, app_version: str | None = None
) -> list[str]:
    """Start copies that go on from `from_step`; returns the ids of the copies."""
    given = list(ids)
    return _do(
        "fork",
        lambda using: transitions.fork(
            given, from_step=from_step, new_id=new_id, app_version=app_version, using=using
        ),
    )


def delete(ids: Iterable[str]) -> list[str]:
    """Delete runs that have ended, with everything that hangs on them."""
    given = list(ids)
    return _do("delete", lambda using: transitions.delete(given, using=using))


def set_delay(
    ids: Iterable[str], *, delay: timedelta | float | None = None, run_at: datetime | None = None
) -> list[str]:
    """Let runs that have not started begin after `delay`, or at `run_at`."""
    given, options = list(ids), Options(delay=delay, run_at=run_at)
    return _do("set_delay", lambda using: transitions.postpone(given, options=options, using=using))


def set_priority(ids: Iterable[str], priority: int) -> list[str]:
    """Change the priority of runs that have not ended; their place within it stays."""
    given, wanted = list(ids), check_priority(priority)
    return _do(
        "set_priority",
        lambda using: transitions.edit(given, priority=wanted, attributes=None, using=using),
    )


def set_attributes(ids: Iterable[str], attributes: Mapping[str, Any]) -> list[str]:
    """Replace the attributes of runs."""
    given, text = list(ids), json.dumps(dict(Options(attributes=attributes).attributes))
    return _do(
        "set_attributes",
        lambda using: transitions.edit(given, priority=None, attributes=text, using=using),
    )


def list_workflows(filters: Filters | None = None, **given: Any) -> list[WorkflowStatus]:
    """Runs that fit every filter, the newest first; payloads are read when they are asked for."""
    refuse_inside("control.list_workflows()")
    return listing.find(filters or Filters(**given), database.alias())


def counts(filters: Filters | None = None, *, by: Iterable[str] = ("status",), **given: Any) -> Counts:
    """How many runs fit, by the columns named."""
    refuse_inside("control.counts()")
    return listing.count(filters or Filters(**given), tuple(by), database.alias())


def pause(queues: Iterable[str]) -> int:
    """Stop claims from these queues; what runs goes on. Returns how many were not paused before."""
    return Queue.objects.using(database.alias()).filter(pk__in=list(queues)).pause()


def unpause(queues: Iterable[str]) -> int:
    """Let claims take from these queues again. Returns how many were paused."""
    return Queue.objects.using(database.alias()).filter(pk__in=list(queues)).unpause()


def set_latest_version(name: str) -> None:
    """Make a registered version the one that unversioned runs are for; raises AppVersion.DoesNotExist."""
    using = database.alias()
    with transaction.atomic(using=using):
        version = AppVersion.objects.using(using).get(pk=name)
        version.promoted_at = Clock()
        version.save(using=using, update_fields=["promoted_at"])


def replay(workflow_id: str) -> Replay:
    """Run a recorded workflow here against its checkpoints, writing nothing."""
    return replaying.replay(workflow_id, database.alias())


def handle(workflow_id: str) -> Handle:
    """A handle on a run, without looking whether it exists."""
    return Handle(workflow_id)


def _do(verb: str, act: Any) -> list[str]:
    changed: list[str] = transitions.managed(verb, lambda: act(database.alias()))
    return changed


acancel = twin(cancel)
aresume = twin(resume)
aretry = twin(retry)
arewind = twin(rewind)
afork = twin(fork)
adelete = twin(delete)
aset_delay = twin(set_delay)
aset_priority = twin(set_priority)
aset_attributes = twin(set_attributes)
