"""Management of runs and queues: the door that the admin, the commands and operators use.

A verb takes many ids or handles, or one, changes the runs whose status allows it and returns their ids; for
one alone it raises WorkflowNotFound or TransitionRefused. Called in a workflow body, each is a recorded step.
Each has an async twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django_durable.core.identifiers import check_identifier, check_priority
from django_durable.core.options import Options
from django_durable.core.payloads.excerpt import quoted
from django_durable.engine import listing, transitions, verbs
from django_durable.engine.execution import replay as replaying
from django_durable.engine.execution.context import refuse_inside
from django_durable.engine.execution.drive import perform, twin
from django_durable.engine.execution.operations import at_once
from django_durable.engine.execution.replay import Replay
from django_durable.engine.handle import Handle, each_of, id_of, ids_of
from django_durable.engine.launching.launcher import attributes_text
from django_durable.engine.listing import Counts, Filters
from django_durable.exceptions import InvalidOption
from django_durable.models import AppVersion, Queue, WorkflowStatus, database
from django_durable.models.database import Clock
from django_durable.models.queue import QueueQuerySet

__all__ = ["Counts", "Filters"]

Runs = str | Handle | Iterable[str | Handle]


def cancel(ids: Runs, *, reason: str = "", cascade: bool = False) -> list[str]:
    """Cancel runs that have not ended, and with `cascade` those they started.

    A body whose own run is among them ends there, once the others are cancelled.
    """
    changed: list[str] = verbs.cancel(ids_of(ids), reason=reason, cascade=cascade, using=database.alias())
    return changed


def resume(ids: Runs, *, queue: str | None = None) -> list[str]:
    """Put cancelled, parked or queued runs in line, of another queue if it is given."""
    given = ids_of(ids)
    return _do("resume", lambda using: transitions.resume(given, queue=queue, using=using))


def retry(ids: Runs) -> list[str]:
    """Put failed runs in line, to go on from the step that failed."""
    given = ids_of(ids)
    return _do("retry", lambda using: transitions.retry(given, using=using))


def rewind(ids: Runs, *, to_step: int) -> list[str]:
    """Put runs that ended in line, their history from `to_step` on cut away."""
    given = ids_of(ids)
    return _do("rewind", lambda using: transitions.rewind(given, to_step=to_step, using=using))


def fork(
    ids: Runs, *, from_step: int = 1, new_id: str | None = None, app_version: str | None = None
) -> list[str]:
    """Start copies that go on from `from_step`; returns the ids of the copies."""
    given = ids_of(ids)
    return _do(
        "fork",
        lambda using: transitions.fork(
            given, from_step=from_step, new_id=new_id, app_version=app_version, using=using
        ),
    )


def delete(ids: Runs) -> list[str]:
    """Delete runs that have ended, with everything that hangs on them."""
    given = ids_of(ids)
    return _do("delete", lambda using: transitions.delete(given, using=using))


def set_delay(
    ids: Runs, *, delay: timedelta | float | None = None, run_at: datetime | None = None
) -> list[str]:
    """Let runs that have not started begin after `delay`, or at `run_at`."""
    given, options = ids_of(ids), Options(delay=delay, run_at=run_at)
    return _do("set_delay", lambda using: transitions.postpone(given, options=options, using=using))


def set_priority(ids: Runs, priority: int) -> list[str]:
    """Change the priority of runs that have not ended; their place within it stays."""
    given, wanted = ids_of(ids), check_priority(priority)
    return _do(
        "set_priority",
        lambda using: transitions.edit(given, priority=wanted, attributes=None, using=using),
    )


def set_attributes(ids: Runs, attributes: Mapping[str, Any]) -> list[str]:
    """Replace the attributes of runs."""
    given, text = ids_of(ids), attributes_text(Options(attributes=attributes))
    return _do(
        "set_attributes",
        lambda using: transitions.edit(given, priority=None, attributes=text, using=using),
    )


def list_workflows(filters: Filters | None = None, **given: Any) -> list[WorkflowStatus]:
    """Runs that fit every filter, the newest first; payloads are read when they are asked for."""
    refuse_inside("control.list_workflows()")
    wanted, using = _filters(filters, given), database.alias()
    found: list[WorkflowStatus] = perform(
        "list_workflows()", lambda: at_once(lambda: listing.find(wanted, using))
    )
    return found


def counts(filters: Filters | None = None, *, by: str | Iterable[str] = ("status",), **given: Any) -> Counts:
    """How many runs fit, by the columns named, or the one."""
    refuse_inside("control.counts()")
    wanted, columns, using = _filters(filters, given), _columns(by), database.alias()
    found: Counts = perform("counts()", lambda: at_once(lambda: listing.count(wanted, columns, using)))
    return found


def pause(queues: str | Iterable[str]) -> int:
    """Stop claims from these queues; what runs goes on. Returns how many were not paused before.

    Raises Queue.DoesNotExist, and pauses none, if one of them is not there.
    """
    names = _queue_names(queues)
    changed: int = verbs.as_step("pause", lambda: _existing(names).pause())
    return changed


def unpause(queues: str | Iterable[str]) -> int:
    """Let claims take from these queues again. Returns how many were paused.

    Raises Queue.DoesNotExist, and lets none go on, if one of them is not there.
    """
    names = _queue_names(queues)
    changed: int = verbs.as_step("unpause", lambda: _existing(names).unpause())
    return changed


def set_latest_version(name: str) -> None:
    """Make a registered version the one that unversioned runs are for; raises AppVersion.DoesNotExist."""
    version = check_identifier("app version", name)
    promoted: Any = verbs.as_step("set_latest_version", lambda: _promote(version))
    return promoted  # nothing; for its twin what is to be awaited


def replay(workflow_id: str | Handle) -> Replay:
    """Run a recorded workflow here against its checkpoints, writing nothing."""
    return replaying.replay(id_of(workflow_id), database.alias())


def handle(workflow_id: str | Handle) -> Handle:
    """A handle on a run, without looking whether it exists."""
    return Handle(workflow_id)


def _do(verb: str, act: Any) -> list[str]:
    changed: list[str] = verbs.as_step(verb, lambda: act(database.alias()))
    return changed


def _filters(filters: object, given: Mapping[str, Any]) -> Filters:
    if filters is None:
        return Filters(**given)
    if not isinstance(filters, Filters):
        raise InvalidOption(f"filters are given by name, or as one Filters; it is {quoted(filters)}")
    if given:
        raise InvalidOption(f"give one Filters, or filters by name ({', '.join(given)}), not both")
    return filters


def _queue_names(queues: str | Iterable[str]) -> list[str]:
    return [check_identifier("queue name", name) for name in each_of("queue name", queues)]


def _columns(by: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(each_of("what to count by", by))


def _existing(names: list[str]) -> QueueQuerySet:
    rows = Queue.objects.using(database.alias()).filter(pk__in=names)
    missing = sorted(set(names) - set(rows.values_list("pk", flat=True)))
    if missing:
        raise Queue.DoesNotExist(f"there is no queue {', '.join(map(repr, missing))}; no queue was changed")
    return rows


def _promote(name: str) -> None:
    using = database.alias()
    version = AppVersion.objects.using(using).filter(pk=name)
    if not version.update(promoted_at=Clock()):
        known = ", ".join(map(repr, AppVersion.objects.using(using).values_list("pk", flat=True)[:10]))
        raise AppVersion.DoesNotExist(
            f"no version {name!r} is registered (there is {known or 'none'}); "
            "a worker registers its own at its start"
        )


acancel = twin(cancel)
aresume = twin(resume)
aretry = twin(retry)
arewind = twin(rewind)
afork = twin(fork)
adelete = twin(delete)
aset_delay = twin(set_delay)
aset_priority = twin(set_priority)
aset_attributes = twin(set_attributes)
alist_workflows = twin(list_workflows)
acounts = twin(counts)
apause = twin(pause)
aunpause = twin(unpause)
aset_latest_version = twin(set_latest_version)
