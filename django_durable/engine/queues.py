"""The queues that a project always has: the default one, and those that its settings declare.

They are written after each migrate. A declared queue is owned by the code: its limits are set anew each time.
One that is not declared any more keeps its limits and its workflows, and can be edited again.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from django.apps import apps as installed
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import connections, models, router, transaction

from django_durable.conf import settings
from django_durable.core.identifiers import check_identifier
from django_durable.core.payloads.excerpt import quoted
from django_durable.exceptions import InvalidIdentifier, InvalidOption
from django_durable.models import DEFAULT_QUEUE, Queue
from django_durable.models.settable import of_its_kind

LIMITS = (
    "concurrency",
    "worker_concurrency",
    "rate_limit",
    "rate_period",
    "partition_concurrency",
    "partition_worker_concurrency",
    "partition_rate_limit",
    "partition_rate_period",
    "fair",
    "polling_interval",
    "waiting_holds_slot",
)
COLUMNS = {field.name: field for field in Queue._meta.concrete_fields if field.name in LIMITS}


def declared_queues() -> list[Queue]:
    """The queues of DURABLE['QUEUES'], unsaved; raises ImproperlyConfigured, naming queue and limit."""
    return [_declared(name, limits) for name, limits in settings().queues.items()]


def keep_queues(*, using: str, apps: Any = installed, **_: object) -> None:
    """Write the default queue and the declared ones, if this database has their table by now."""
    try:
        table = apps.get_model(Queue._meta.app_label, "Queue")
    except LookupError:
        return  # migrated back to nothing
    if connections[using].vendor == "postgresql" and router.allow_migrate_model(using, table):
        _write(table._default_manager.using(using), declared_queues())


def make_missing(using: str) -> None:
    """Those that it writes, where they are not there: after a flush, or under other settings."""
    there = set(Queue.objects.using(using).values_list("name", flat=True))
    missing = [queue for queue in declared_queues() if queue.name not in there]
    for queue in missing:
        queue.code_owned = True
    if DEFAULT_QUEUE not in there:
        missing.append(Queue(name=DEFAULT_QUEUE))
    Queue.objects.using(using).bulk_create(missing, ignore_conflicts=True)


def _write(rows: models.QuerySet[Any], declared: list[Queue]) -> None:
    with transaction.atomic(using=rows.db):
        rows.get_or_create(name=DEFAULT_QUEUE)
        for queue in declared:
            limits = {limit: getattr(queue, limit) for limit in LIMITS}
            rows.update_or_create(name=queue.name, defaults={**limits, "code_owned": True})
        left = rows.filter(code_owned=True).exclude(name__in=[queue.name for queue in declared])
        left.update(code_owned=False)


def _declared(name: str, limits: Mapping[str, Any]) -> Queue:
    place = f"DURABLE['QUEUES'][{quoted(name)}]"
    if not isinstance(limits, Mapping):
        raise ImproperlyConfigured(f"{place} must be a dict of limits; it is {quoted(limits)}")
    queue = Queue(name=name, **{limit: _value(place, limit, value) for limit, value in limits.items()})
    try:
        check_identifier("queue name", name)
        queue.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise ImproperlyConfigured(f"{place}: {_in_one_line(error)}") from None
    except InvalidIdentifier as error:
        raise ImproperlyConfigured(f"{place}: {error}") from None
    return queue


def _value(place: str, limit: str, value: object) -> Any:
    if limit not in LIMITS:
        close = difflib.get_close_matches(quoted(limit), LIMITS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known limits: {', '.join(LIMITS)}"
        raise ImproperlyConfigured(f"{place} has no limit {quoted(limit)}; {hint}")
    try:
        return of_its_kind(f"{place}[{limit!r}]", COLUMNS[limit], value)
    except InvalidOption as fault:
        raise ImproperlyConfigured(str(fault)) from None


def _in_one_line(error: ValidationError) -> str:
    return " ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
