"""What each session with the durable database has to be like, whatever its role or database is set to."""

from __future__ import annotations

from typing import Any

from django.db.backends.signals import connection_created

from django_durable import sql
from django_durable.models import database

READ = "postgres"  # the style of intervals that psycopg reads; it refuses the values in any other


def register() -> None:
    connection_created.connect(_write_intervals_plainly, dispatch_uid="django_durable.intervals")


def _write_intervals_plainly(connection: Any, **_: object) -> None:
    """The server tells the style as the session begins, so where it fits nothing is sent."""
    if connection.vendor != "postgresql" or _style(connection) in (READ, None):
        return
    if connection.alias == database.alias():
        with connection.cursor() as cursor:
            cursor.execute(sql.load("write_intervals_plainly"))
        if not connection.get_autocommit():
            connection.commit()  # or a rollback takes it away


def _style(connection: Any) -> str | None:
    style: str | None = connection.connection.info.parameter_status("IntervalStyle")
    return style
