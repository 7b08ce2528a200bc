"""Two connections and more; what they commit is taken away after the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.race import Race


@pytest.fixture
def race(transactional_db: None) -> Iterator[Race]:
    race = Race()
    yield race
    race.close()
