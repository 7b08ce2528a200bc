"""One connection, in a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
