"""A transaction in which nothing can be written: PostgreSQL refuses it, and it is rolled back in any case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, connections, transaction

from django_durable.models import database
from django_durable.models.outage import is_read_only


class Refusals:
    """The statements that were refused, by their first words, whatever the caller made of the error."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def watch(self, execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
        try:
            return execute(sql, *rest)
        except Error as error:
            if is_read_only(error):
                self.statements.append(" ".join(str(sql).split()[:3]))
            raise


@contextmanager
def writing_nothing(using: str) -> Iterator[Refusals]:
    """Of this database alone. Callbacks for its commit do not run."""
    refusals = Refusals()
    with transaction.atomic(using=using):
        database.fetch("read_only", {}, using)
        try:
            with connections[using].execute_wrapper(refusals.watch):
                yield refusals
        finally:
            transaction.set_rollback(True, using=using)
