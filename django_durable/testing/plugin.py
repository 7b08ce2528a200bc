"""Fixtures for pytest: `durable_drain` and `durable_clock`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django_durable.testing.clock import Clock


@pytest.fixture
def durable_drain(db: None) -> Callable[..., int]:
    """`django_durable.testing.drain`."""
    from django_durable.testing.draining import drain  # needs the models

    return drain


@pytest.fixture
def durable_clock(db: None) -> Iterator[Clock]:
    """A clock that stands still but for `durable_clock.shift(...)`."""
    from django_durable.testing.clock import freeze  # needs the models

    with freeze() as clock:
        yield clock
