"""A transaction that is cut off, so that maintenance can hold nothing up for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction

from django_durable.models import database

STATEMENT_TIMEOUT = 30_000  # milliseconds
FROZEN = 60_000  # milliseconds without a statement, after which the process is taken to be stopped or gone


@contextmanager
def bounded(using: str) -> Iterator[None]:
    """The server ends a statement that takes too long, and the transaction, with its locks, if none follows.

    Inside a transaction of the caller's, which may rest as it likes, only the first holds.
    """
    is_own = not connections[using].in_atomic_block
    with transaction.atomic(using=using):
        bounds = {"statement": str(STATEMENT_TIMEOUT), "idle": str(FROZEN) if is_own else None}
        database.fetch("bound_statements", bounds, using)
        yield
