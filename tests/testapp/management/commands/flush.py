"""Django's `flush`, in place of it, for the end of a test: rows are deleted that the test left.

A TRUNCATE of all tables gives each of them and each of their indexes a new file, which takes longer than most
tests do. It is kept for what was written a lot, so that no test meets the dead rows of many others.
"""

from __future__ import annotations

from typing import Any

from django.core.management.commands import flush
from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from django_durable.engine.queues import keep_queues

KEPT = {"django_content_type", "auth_permission"}  # a migrate would write the same rows again
LITTLE = 128 * 1024  # bytes


class Command(flush.Command):
    def handle(self, **options: Any) -> None:
        database = options["database"]
        tables = connections[database].introspection.django_table_names(only_existing=True)
        with transaction.atomic(using=database), connections[database].cursor() as cursor:
            _empty(cursor, sorted({*tables} - KEPT))
        if not options.get("inhibit_post_migrate"):
            keep_queues(using=database)


def _empty(cursor: CursorWrapper, tables: list[str]) -> None:
    """First of all wait, as TRUNCATE does, for each transaction that goes on in one of them."""
    cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(SIZES, [tables])
    sizes = dict(cursor.fetchall())
    for table in (table for table, size in sizes.items() if 0 < size <= LITTLE):
        cursor.execute(f"DELETE FROM {table}")
    if much := [table for table, size in sizes.items() if size > LITTLE]:
        cursor.execute(f"TRUNCATE {', '.join(much)} CASCADE")


SIZES = "SELECT name, pg_relation_size(name::regclass) FROM unnest(%s::text[]) AS name"
