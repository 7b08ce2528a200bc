"""The queues that a project always has: the default one, and those that its settings declare.

They are written after each migrate. A declared queue is owned by the code: its limits are set anew each time.
One that is not declared any more keeps its limits and its workflows, and can be edited again.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import timedelta
from math import isfinite
from typing import Any

from django.apps import apps as installed
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import connections, models, router, transaction

from django_durable.conf import settings
from django_durable.core.identifiers import check_identifier
from django_durable.exceptions import InvalidIdentifier
from django_durable.models import DEFAULT_QUEUE, Queue

LIMITS: dict[str, tuple[type, ...]] = {
    "concurrency": (int,),
    "worker_concurrency": (int,),
    "rate_limit": (int,),
    "rate_period": (timedelta, int, float),
    "partition_concurrency": (int,),
    "partition_worker_concurrency": (int,),
    "partition_rate_limit": (int,),
    "partition_rate_period": (timedelta, int, float),
    "fair": (bool,),
    "polling_interval": (int, float),
    "waiting_holds_slot": (bool,),
}


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


def _write(rows: models.QuerySet[Any], declared: list[Queue]) -> None:
    with transaction.atomic(using=rows.db):
        rows.get_or_create(name=DEFAULT_QUEUE)
        for queue in declared:
            limits = {limit: getattr(queue, limit) for limit in LIMITS}
            rows.update_or_create(name=queue.name, defaults={**limits, "code_owned": True})
        left = rows.filter(code_owned=True).exclude(name__in=[queue.name for queue in declared])
        left.update(code_owned=False)


def _declared(name: str, limits: Mapping[str, Any]) -> Queue:
    place = f"DURABLE['QUEUES'][{name!r}]"
    if not isinstance(limits, Mapping):
        raise ImproperlyConfigured(f"{place} must be a dict of limits; it is {limits!r}")
    for limit, value in limits.items():
        _check_limit(place, limit, value)
    queue = Queue(name=name, **{limit: _as_stored(limit, value) for limit, value in limits.items()})
    try:
        check_identifier("queue name", name)
        queue.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        raise ImproperlyConfigured(f"{place}: {_in_one_line(error)}") from None
    except InvalidIdentifier as error:
        raise ImproperlyConfigured(f"{place}: {error}") from None
    return queue


def _check_limit(place: str, limit: str, value: object) -> None:
    if limit not in LIMITS:
        close = difflib.get_close_matches(str(limit), LIMITS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known limits: {', '.join(LIMITS)}"
        raise ImproperlyConfigured(f"{place} has no limit {limit!r}; {hint}")
    kinds = LIMITS[limit]
    wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
    if value is not None and (wrong or (isinstance(value, float) and not isfinite(value))):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ImproperlyConfigured(f"{place}[{limit!r}] must be {names}; it is {value!r}")


def _as_stored(limit: str, value: Any) -> Any:
    if timedelta in LIMITS[limit] and isinstance(value, int | float):
        return timedelta(seconds=value)
    return value


def _in_one_line(error: ValidationError) -> str:
    return " ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
