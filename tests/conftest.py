"""What holds for every test: the mark of its folder, and a header that says on what the run stands."""

from __future__ import annotations

import os
from pathlib import Path

import django
import psycopg
import pytest

TESTS = Path(__file__).parent


def pytest_report_header() -> str:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        postgres = connection.execute("SHOW server_version").fetchone()
    return f"django {django.__version__}, psycopg {psycopg.__version__}, postgres {(postgres or ['?'])[0]}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        kind = item.path.relative_to(TESTS).parts[0]
        item.add_marker(kind)
