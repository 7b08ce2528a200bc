"""One connection, in a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from django_durable.engine.declared import workflows
from tests.drain import DieOnce, Drain


@pytest.fixture(autouse=True)
def _only_the_declarations_of_the_project() -> Iterator[None]:
    """Forget the workflow functions that a test declares."""
    before = {id(declaration) for declaration in workflows}
    yield
    for declaration in [d for d in workflows if id(d) not in before]:
        workflows.remove(declaration)


@pytest.fixture
def drain(db: None) -> Drain:
    return Drain()


@pytest.fixture
def die_once(drain: Drain) -> DieOnce:
    return DieOnce(drain)


@pytest.fixture
def execute(db: None) -> Callable[..., list[tuple[Any, ...]]]:
    """Send a statement; its rows."""

    def execute(statement: str, *params: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else []

    return execute
