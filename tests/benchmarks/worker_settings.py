"""The tests' host project as a worker of a benchmark sees it."""

from __future__ import annotations

from tests.benchmarks import bodies as bodies  # declared by being imported
from tests.settings import *  # noqa: F403 (settings are read by name)

DURABLE: dict[str, object] = {}
