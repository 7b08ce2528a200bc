"""Verbs on many runs: those whose status allows it are changed, logged and told; the others are told too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from django_durable import control
from django_durable.admin.base import log_changes
from django_durable.core.states import LABELS, Status
from django_durable.exceptions import TransitionRefused, WorkflowNotFound

BATCH = 1000  # runs a statement, so that no lock is held for long

Runs = QuerySet[Any]


class Order(NamedTuple):
    """A verb as `control` takes it, what it makes of a run, and the runs it shall spare."""

    verb: Callable[[list[str]], list[str]]
    done: str
    spares: frozenset[Status] = frozenset()


@admin.action(description="Cancel selected workflows", permissions=["cancel"])
def cancel(model_admin: Any, request: HttpRequest, queryset: Runs) -> None:
    reason = f"cancelled in the admin by {request.user}"
    _carry_out(
        Order(lambda ids: control.cancel(ids, reason=reason), "cancelled"), model_admin, request, queryset
    )


@admin.action(description="Resume selected workflows", permissions=["resume"])
def resume(model_admin: Any, request: HttpRequest, queryset: Runs) -> None:
    in_line = frozenset({Status.ENQUEUED})  # it would go to the end of its line
    _carry_out(Order(control.resume, "resumed", spares=in_line), model_admin, request, queryset)


@admin.action(description="Retry selected workflows", permissions=["retry"])
def retry(model_admin: Any, request: HttpRequest, queryset: Runs) -> None:
    _carry_out(Order(control.retry, "put back in line"), model_admin, request, queryset)


def _carry_out(order: Order, model_admin: Any, request: HttpRequest, chosen: Runs) -> None:
    rows = chosen.model._default_manager.using(chosen.db).only("id", "name", "status")
    ids = _ids(chosen)
    changed = _changed(order, _ids(chosen.exclude(status__in=order.spares)))
    log_changes(request, rows.filter(pk__in=changed), order.done)
    if changed:
        model_admin.message_user(request, f"{_counted(len(changed))} {order.done}.", messages.SUCCESS)
    left = set(ids).difference(changed)
    if left:
        statuses = Counter(rows.filter(pk__in=left).values_list("status", flat=True))
        model_admin.message_user(request, _left_alone(len(left), statuses), messages.WARNING)


def _ids(runs: Runs) -> list[str]:
    return list(runs.order_by("created_at", "id").values_list("pk", flat=True))


def _changed(order: Order, ids: Sequence[str]) -> list[str]:
    return [each for batch in _batches(ids) for each in _verb_on(batch, order)]


def _verb_on(batch: list[str], order: Order) -> list[str]:
    try:
        return order.verb(batch)
    except (TransitionRefused, WorkflowNotFound):  # of a single run; of many, those refused are just not told
        return []


def _batches(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield list(ids[start : start + BATCH])


def _left_alone(count: int, statuses: Counter[str]) -> str:
    were = "was" if count == 1 else "were"
    now = ", ".join(
        f"{number} {LABELS[Status(status)].lower()}" for status, number in sorted(statuses.items())
    )
    return f"{_counted(count)} {were} left as {'it is' if count == 1 else 'they are'} ({now})."


def _counted(count: int) -> str:
    return f"{count} workflow{'' if count == 1 else 's'}"
