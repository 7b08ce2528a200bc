"""Find runs and count them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Count, Q, QuerySet

from django_durable.core.options import Options
from django_durable.core.payloads.excerpt import quoted
from django_durable.core.states import Status
from django_durable.engine.handle import Handle, each_of, ids_of
from django_durable.exceptions import InvalidIdentifier, InvalidOption
from django_durable.models import WorkflowStatus, database

HEAVY = ("input", "output", "error", "headers")
GROUPS = ("status", "queue", "name", "app_version", "partition_key", "limit_key", "priority", "executor_id")

Counts = dict[Any, int]
MOST = 10**18  # rows to pass over or to return, far below what PostgreSQL takes
Texts = str | Collection[str] | None
Runs = str | Handle | Collection[str | Handle] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a run must fit; None lets all pass, a collection names alternatives. Instants are aware."""

    ids: Runs = None
    id_prefix: Texts = None
    status: Texts = None
    queue: Texts = None
    name: Texts = None
    app_version: Texts = None
    executor: Texts = None
    partition_key: Texts = None
    limit_key: Texts = None
    deduplication_id: str | None = None
    parent: Runs = None
    forked_from: Runs = None
    schedule: Texts = None
    has_parent: bool | None = None
    is_fork: bool | None = None  # from another run
    is_debounced: bool | None = None
    attributes: dict[str, Any] | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    started_after: datetime | None = None
    started_before: datetime | None = None
    completed_after: datetime | None = None
    completed_before: datetime | None = None
    newest_first: bool = True
    offset: int = 0
    limit: int | None = 100

    def __post_init__(self) -> None:
        for name in (*COLUMNS, "id_prefix"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        for name in (f"{instant}_{side}" for instant in INSTANTS for side in ("after", "before")):
            _check_instant(name, getattr(self, name))
        for name in ("offset", "limit"):
            _check_count(name, getattr(self, name), optional=name == "limit")
        Options(attributes=self.attributes or {})
        for status in self.status or ():
            if status not in set(Status):
                raise InvalidOption(f"there is no status {status!r}; there are {', '.join(sorted(Status))}")


def _texts(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        return tuple(ids_of(value) if name in OF_RUNS else [_text(each) for each in each_of(name, value)])
    except (InvalidIdentifier, TypeError):
        kinds = "a text or a handle" if name in OF_RUNS else "a text"
        raise InvalidOption(f"{name} must be {kinds}, or several in a list; it is {quoted(value)}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _check_instant(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, datetime):
        raise InvalidOption(f"{name} must be a datetime; it is {quoted(value)}")
    if value.utcoffset() is None:
        raise InvalidOption(f"{name} must be an aware datetime; {quoted(value)} is naive")


def _check_count(name: str, value: object, *, optional: bool) -> None:
    if not (optional and value is None) and (type(value) is not int or not 0 <= value <= MOST):
        raise InvalidOption(f"{name} must be a whole number from 0 to 10**18; it is {quoted(value)}")


COLUMNS = {
    "ids": "pk",
    "status": "status",
    "queue": "queue",
    "name": "name",
    "app_version": "app_version",
    "executor": "executor_id",
    "partition_key": "partition_key",
    "limit_key": "limit_key",
    "deduplication_id": "deduplication_id",
    "parent": "parent_id",
    "forked_from": "forked_from",
    "schedule": "schedule_name",
}
OF_RUNS = ("ids", "parent", "forked_from")
KINDS = {
    "has_parent": Q(parent__isnull=False),
    "is_fork": Q(forked_from__isnull=False),
    "is_debounced": Q(headers__has_key="bounces"),
}
INSTANTS = {"created": "created_at", "started": "started_at", "completed": "completed_at"}


def find(filters: Filters, using: str) -> list[WorkflowStatus]:
    order = ("-created_at", "-id") if filters.newest_first else ("created_at", "id")
    end = None if filters.limit is None else filters.offset + filters.limit
    return list(fitting(filters, using).defer(*HEAVY).order_by(*order)[filters.offset : end])


def count(filters: Filters, by: tuple[str, ...], using: str) -> Counts:
    """By one column its values, by several tuples of them."""
    if not by:
        raise InvalidOption(f"name what to count by: one or more of {', '.join(GROUPS)}")
    for column in by:
        if column not in GROUPS:
            raise InvalidOption(f"cannot count by {quoted(column)}; only by {', '.join(GROUPS)}")
    rows = fitting(filters, using).order_by().values_list(*by).annotate(runs=Count("*"))
    return {row[0] if len(by) == 1 else row[:-1]: row[-1] for row in rows}


def fitting(filters: Filters, using: str) -> QuerySet[WorkflowStatus]:
    runs: QuerySet[WorkflowStatus] = WorkflowStatus.objects.using(using)
    for name, column in COLUMNS.items():
        value = getattr(filters, name)
        if value is not None:
            runs = runs.filter(**{f"{column}__in": _storable(value)})
    for name, column in INSTANTS.items():
        after, before = getattr(filters, f"{name}_after"), getattr(filters, f"{name}_before")
        runs = runs.filter(**{f"{column}__gte": after}) if after is not None else runs
        runs = runs.filter(**{f"{column}__lt": before}) if before is not None else runs
    if filters.id_prefix is not None:
        begins = [Q(pk__startswith=prefix) for prefix in _storable(filters.id_prefix)]
        runs = runs.filter(reduce(or_, begins)) if begins else runs.none()
    for name, kind in KINDS.items():
        value = getattr(filters, name)
        if value is not None:
            runs = runs.filter(kind) if value else runs.exclude(kind)
    if filters.attributes is not None:
        runs = runs.filter(attributes__contains=filters.attributes)
    return runs


def _storable(texts: Collection[str]) -> list[str]:
    """Those of the alternatives that a row could bear."""
    return [text for text in texts if database.is_storable(text)]
