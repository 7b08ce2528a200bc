"""The one door for each verb that comes from outside an execution; guards are those of core.states.

Every verb takes many ids, changes those whose status allows it in one statement, and raises for a single id
that it could not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.db import IntegrityError, transaction

from django_durable.claim.isolation import read_committed
from django_durable.core.identifiers import check_identifier
from django_durable.core.options import Options
from django_durable.core.payloads import failures
from django_durable.core.states import TRANSITIONS, sources
from django_durable.core.uuid7 import uuid7
from django_durable.engine.execution.conflicts import through_conflicts
from django_durable.engine.execution.origins import Origin
from django_durable.engine.launching.notices import give_notice
from django_durable.engine.retrying import go_on, origin_in
from django_durable.engine.waits.waking import wake_waiters
from django_durable.exceptions import (
    Deduplicated,
    InvalidOption,
    TransitionRefused,
    WorkflowCancelled,
    WorkflowIDInUse,
    WorkflowNotFound,
)
from django_durable.models import database
from django_durable.models.announcing import announce, together
from django_durable.models.workflow import WorkflowStatus

R = TypeVar("R")

HEIR = "its parent was cancelled"


def cancel(
    ids: Sequence[str], *, reason: str = "", cascade: bool = False, using: str, own: str | None = None
) -> list[str]:
    """Settle as CANCELLED; a running body stops at its next durable call. Returns the ids changed.

    With `cascade` what they started goes too, however deep, in transactions after theirs; said again after a
    crash between those, it goes on. `own` is returned like the others if it is among them, and left to end by
    itself.
    """
    changed = _cancel(ids, reason, using, own, is_asked=not cascade)
    met = set(ids)
    while cascade and (found := _descendants(ids, using) - met):
        met |= found
        changed += _cancel(sorted(found), reason or HEIR, using, own, is_asked=False)
    if len(ids) == 1 and not changed:
        raise _refusal("cancel", ids[0], using)
    return list(dict.fromkeys(changed))


def _descendants(ids: Sequence[str], using: str) -> set[str]:
    """Those that have not ended. Who is cancelled starts no more: the last look finds what came meanwhile."""
    return {found for (found,) in database.fetch("active_descendants", {"ids": _storable(ids)}, using)}


def _cancel(
    ids: Sequence[str], reason: str, using: str, own: str | None, *, is_asked: bool = True
) -> list[str]:
    error = failures.describe(WorkflowCancelled(ids[0] if len(ids) == 1 else "", reason))
    others = [each for each in ids if each != own]
    is_asked = is_asked and len(others) == len(ids)

    def write() -> list[str]:
        changed = _apply("cancel", others, {"error": error}, using=using, is_asked=is_asked)
        wake_waiters(changed, using)
        return changed

    changed = _transact(write, using)
    return changed if own is None or own not in ids else [*changed, own]


def resume(ids: Sequence[str], *, queue: str | None = None, using: str) -> list[str]:
    """Put cancelled, parked or queued runs in line anew, counters and deadline reset.

    Raises Deduplicated, and changes none, if one of them would meet its deduplication id in the queue given.
    """
    check_identifier("queue name", queue, optional=True)
    try:
        return list(_transact(lambda: _requeue("resume", ids, queue, using), using))
    except IntegrityError:
        if queue is not None:
            _refuse_duplicates(ids, queue, using)
        raise


def _refuse_duplicates(ids: Sequence[str], queue: str, using: str) -> None:
    active = WorkflowStatus.objects.using(using).filter(deduplication_id__isnull=False)
    moved = active.filter(pk__in=_storable(ids))
    held = dict(active.filter(queue=queue).values_list("deduplication_id", "id"))
    for workflow_id, key in moved.order_by("id").values_list("id", "deduplication_id"):
        if held.setdefault(key, workflow_id) != workflow_id:
            raise Deduplicated(queue, key, held[key])


def retry(ids: Sequence[str], *, using: str) -> list[str]:
    """Put failed runs in line, to go on from the step that failed, and children that failed with them."""

    def write() -> list[str]:
        ended = _requeue("retry", ids, None, using)
        go_on({workflow_id: origin_in(error) for workflow_id, error in ended.items()}, using)
        return list(ended)

    return _transact(write, using)


def rewind(ids: Sequence[str], *, to_step: int, using: str) -> list[str]:
    """Put runs that ended in line with their history from `to_step` on cut away: they do that again."""
    check_step("to_step", to_step)

    def write() -> list[str]:
        changed = list(_requeue("rewind", ids, None, using))
        go_on(dict.fromkeys(changed, Origin((), to_step)), using)
        return changed

    return _transact(write, using)


def fork(
    ids: Sequence[str],
    *,
    from_step: int = 1,
    new_id: str | None = None,
    app_version: str | None = None,
    using: str,
) -> list[str]:
    """Start copies that go on from `from_step` with the results recorded before it; returns their ids."""
    check_step("from_step", from_step)
    check_identifier("workflow id", new_id, optional=True)
    check_identifier("app version", app_version, optional=True)
    if new_id is not None and len(ids) != 1:
        raise InvalidOption("new_id names one copy, so it needs one original")
    storable = _storable(ids)
    copies = [new_id or uuid7() for _ in storable]
    given = {"ids": storable, "copies": copies, "app_version": app_version, "step": from_step}
    made = [copy for (copy,) in database.fetch("fork", given, using)]
    if len(ids) == 1 and not made:
        raise _refused_fork(ids[0], new_id, using)
    give_notice(using)
    return made


def delete(ids: Sequence[str], *, using: str) -> list[str]:
    """Delete runs that have ended, with everything that hangs on them. Returns the ids deleted."""

    def write() -> list[str]:
        held = _apply("delete", ids, {}, "hold_ended", using=using)
        database.change("delete_runs", {"ids": held}, using)
        return held

    return _transact(write, using)


def postpone(ids: Sequence[str], *, options: Options, using: str) -> list[str]:
    """Let runs that have not started begin at another time: `delay` from now, or `run_at`."""
    if options.delay is None and options.run_at is None:
        raise InvalidOption("give delay or run_at")
    times = {"delay": options.delay, "run_at": options.run_at}
    return _transact(lambda: _apply("postpone", ids, times, using=using), using)


def edit(ids: Sequence[str], *, priority: int | None, attributes: str | None, using: str) -> list[str]:
    """Change the priority of runs under way, or the attributes (JSON) of any."""
    verb = "reprioritise" if priority is not None else "annotate"
    columns = {"priority": priority, "attributes": attributes}
    changed = _transact(lambda: _apply(verb, ids, columns, "edit_runs", using=using), using)
    if priority is not None and changed:
        give_notice(using)
    return changed


def check_step(name: str, value: object) -> None:
    """Raises InvalidOption."""
    if type(value) is not int or not 1 <= value < 2**31:
        raise InvalidOption(f"{name} must be the number of a step, from 1; it is {value!r}")


def _transact(write: Callable[[], R], using: str) -> R:
    """One transaction, or a part of the caller's; its own is tried again where it meets a rival's."""

    def attempt() -> R:
        with read_committed(using), transaction.atomic(using=using):
            return write()

    return through_conflicts(attempt, using)


def _storable(ids: Sequence[str]) -> list[str]:
    return [each for each in ids if database.is_storable(each)]


def _requeue(verb: str, ids: Sequence[str], queue: str | None, using: str) -> dict[str, str | None]:
    """The ids changed, each with the error that it had ended with."""
    params = {"queue": queue, "of_parents": False}
    changed = _rows(verb, ids, params, "requeue", using=using)
    give_notice(using)
    return dict(changed)


def _apply(verb: str, ids: Sequence[str], *rest: Any, **options: Any) -> list[str]:
    return [row[0] for row in _rows(verb, ids, *rest, **options)]


def _rows(
    verb: str,
    ids: Sequence[str],
    params: Mapping[str, object],
    statement: str | None = None,
    *,
    using: str,
    is_asked: bool = True,
) -> list[tuple[Any, ...]]:
    given = {"ids": _storable(ids), "sources": sources(verb), **params}
    with together(using):
        changed = database.fetch(statement or verb, given, using)
        if verb in TRANSITIONS:
            announce(verb, [row[0] for row in changed], using)
    if is_asked and len(ids) == 1 and not changed:
        raise _refusal(verb, ids[0], using)
    return changed


def _refusal(verb: str, workflow_id: str, using: str) -> Exception:
    rows = WorkflowStatus.objects.using(using).filter(pk=workflow_id)
    status = rows.values_list("status", flat=True).first() if database.is_storable(workflow_id) else None
    return WorkflowNotFound(workflow_id) if status is None else TransitionRefused(verb, workflow_id, status)


def _refused_fork(original: str, new_id: str | None, using: str) -> Exception:
    exists = (
        database.is_storable(original) and WorkflowStatus.objects.using(using).filter(pk=original).exists()
    )
    return WorkflowIDInUse(new_id or "") if exists else WorkflowNotFound(original)
