"""What holds for every test: the mark of its folder, and a header that says on what the run stands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest

from tests.shares import Shares, is_short

TESTS = Path(__file__).parent
MOST_PROCESSES = 4


def pytest_report_header() -> str:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        postgres = connection.execute("SHOW server_version").fetchone()
    return f"django {django.__version__}, psycopg {psycopg.__version__}, postgres {(postgres or ['?'])[0]}"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Whole folders run on all cores; named files in one process, which is there sooner.

    On a server that was given, too: all would share it, and some tests look at all that goes on in theirs.
    """
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    if "SERVER_MADE_FOR" not in os.environ or any(path.is_file() for path in named):
        return 0
    return min(os.cpu_count() or 1, MOST_PROCESSES)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shares:
    return Shares(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        kind = item.path.relative_to(TESTS).parts[0]
        item.add_marker(kind)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: is_short(item.path))
