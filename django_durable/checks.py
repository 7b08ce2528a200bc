"""What `manage.py check` says of a project that could not run workflows, or would run them badly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings as project
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from django_durable.conf import Settings, settings
from django_durable.engine import payloads
from django_durable.engine.queues import declared_queues
from django_durable.models import database
from django_durable.worker.driver import REMEDY, fault_of_driver

TAG = "durable"
OLDEST_SERVER = 140_000
Fault = ImproperlyConfigured | ImportError


@register(TAG)
def check_settings(**_: Any) -> list[CheckMessage]:
    """E003: a key, a value or a path that cannot be used; W001: values that do not fit together."""
    faults = [fault for attempt in (settings, declared_queues, _import_paths) if (fault := _fault(attempt))]
    if faults:
        return [Error(str(faults[0]), hint="Correct the setting DURABLE.", id="durable.E003")]
    return [*_mismatches(settings()), *_seldom(settings().lease)]


@register(TAG)
def check_driver(**_: Any) -> list[CheckMessage]:
    """E002: Django found psycopg 2 only, or a psycopg 3 that cannot be loaded."""
    fault = fault_of_driver()
    return [] if fault is None else [Error(fault, hint=REMEDY, id="durable.E002")]


@register(TAG)
def check_database(**_: Any) -> list[CheckMessage]:
    """E001: the tables would be in another database than PostgreSQL; E004: in one that does not exist."""
    return [message for alias in _aliases() for message in _faults_of_alias(alias)]


@register(Tags.database)
def check_server(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """E005: a server older than the statements are written for."""
    asked = set(databases or ()).intersection(_aliases()).intersection(connections)
    return [
        Error(
            f"the database {alias!r} is a PostgreSQL of version {version // 10_000}: 14 is needed",
            hint="Upgrade the server, or set DURABLE['DATABASE'] to the alias of another.",
            id="durable.E005",
        )
        for alias in sorted(asked)
        if connections[alias].vendor == "postgresql"
        and (version := int(connections[alias].pg_version)) < OLDEST_SERVER  # type: ignore[attr-defined]
    ]


def _fault(attempt: Callable[[], object]) -> Fault | None:
    try:
        attempt()
    except (ImproperlyConfigured, ImportError) as fault:
        return fault
    return None


def _import_paths() -> None:
    payloads.own()
    for path in (settings().redact, *settings().context):
        if path is not None:
            import_string(path)


def _mismatches(given: Settings) -> Iterator[CheckMessage]:
    if given.poll_interval >= given.lease:
        yield Warning(
            f"DURABLE['POLL_INTERVAL'] ({given.poll_interval:g} s) is not below DURABLE['LEASE'] "
            f"({given.lease:g} s): a run given back or taken over waits longer than it took to notice",
            hint="Poll every second, or raise the lease.",
            id="durable.W001",
        )
    if given.lease < 5:
        yield Warning(
            f"DURABLE['LEASE'] is {given.lease:g} s: a worker that the system holds up for so long "
            "is taken for lost, and what it runs is run again",
            hint="30 s is the default.",
            id="durable.W002",
        )


def _seldom(lease: float) -> Iterator[CheckMessage]:
    for queue in declared_queues():
        if queue.polling_interval is not None and queue.polling_interval >= lease:
            yield Warning(
                f"DURABLE['QUEUES'][{queue.name!r}]['polling_interval'] ({queue.polling_interval:g} s) is "
                f"not below DURABLE['LEASE'] ({lease:g} s): a run given back or taken over waits longer than "
                "it took to notice",
                hint="Ask more often, or raise the lease.",
                id="durable.W001",
            )


def _aliases() -> list[str]:
    """The aliases that the app uses; none where the settings cannot be read, which E003 tells."""
    if _fault(settings):
        return []
    return sorted({database.alias(), settings().listen_database or database.alias()})


def _faults_of_alias(alias: str) -> Iterator[CheckMessage]:
    if alias not in project.DATABASES:
        known = ", ".join(sorted(project.DATABASES))
        yield Error(
            f"DURABLE names the database {alias!r}, which DATABASES lacks; it has {known}",
            hint="DURABLE['DATABASE'] and DURABLE['LISTEN_DATABASE'] are aliases of DATABASES.",
            id="durable.E004",
        )
    elif connections[alias].vendor != "postgresql":
        yield Error(
            f"workflows live in PostgreSQL, and the database {alias!r} is {connections[alias].display_name}",
            hint="Set DURABLE['DATABASE'] to the alias of a PostgreSQL database, and route the app there.",
            id="durable.E001",
        )
