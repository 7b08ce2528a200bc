"""The tests' host project as a worker of a benchmark sees it."""

from __future__ import annotations

from tests.benchmarks import bodies as bodies  # declared by being imported
from tests.settings import *  # noqa: F403 (settings are read by name)

DATABASES["default"]["CONN_MAX_AGE"] = 60  # noqa: F405 (as any project in production has it)
