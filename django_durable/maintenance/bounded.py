"""A transaction whose statements are cut off, so that maintenance can hold nothing up for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from django_durable.models import database

STATEMENT_TIMEOUT = 30_000  # milliseconds


@contextmanager
def bounded(using: str) -> Iterator[None]:
    with transaction.atomic(using=using):
        database.fetch("bound_statements", {"milliseconds": str(STATEMENT_TIMEOUT)}, using)
        yield
