"""Which database a command works on, and what it says of one that it cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, connections

from django_durable.models import database


def require_postgres(alias: str) -> None:
    """Raises CommandError where no queues can be."""
    if alias not in connections:
        raise CommandError(f"DATABASES has no {alias!r}; it has {', '.join(connections)}")
    vendor = connections[alias].vendor
    if vendor != "postgresql":
        raise CommandError(f"database {alias!r} is {vendor}; the queues need PostgreSQL")


@contextmanager
def chosen(given: str | None) -> Iterator[str]:
    """The alias to work on; what goes wrong with the database there is told in one line."""
    try:
        alias = given or database.alias()
        require_postgres(alias)
        yield alias
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from None
    except (DatabaseError, InterfaceError) as error:
        raise CommandError(f"the database did not do it: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0]
