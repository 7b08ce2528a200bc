"""Databases of their own, and the commands run on them in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

SERVER = os.environ["DATABASE_URL"]
OVERRIDING = """
import sys
from django.conf import settings
import tests.settings as base
given = {{name: getattr(base, name) for name in dir(base) if name.isupper()}}
settings.configure(**{{**given, **{overrides!r}}})
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
_numbers = count()


class Scratch:
    """One database, and `manage.py` on it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = urlsplit(SERVER)._replace(path=f"/{name}").geturl()

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True)

    def start(self, *command: str, **overrides: object) -> subprocess.Popen[str]:
        """Begin a management command under the tests' settings, some of them overridden."""
        return subprocess.Popen(
            [sys.executable, "-c", OVERRIDING.format(overrides=overrides), *command],
            env={
                **os.environ,
                "DATABASE_URL": self.url,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def manage(self, *command: str, **overrides: object) -> str:
        """Run a management command to its end; raises AssertionError with what it said, if it failed."""
        process = self.start(*command, **overrides)
        said, _ = process.communicate()
        assert process.returncode == 0, said
        return said

    def tables(self) -> set[str]:
        with self.connect() as connection:
            rows = connection.execute(
                "SELECT relname FROM pg_class WHERE relkind IN ('r', 'S') AND relname ~ '^durable_'"
            )
            return {name for (name,) in rows}


def _administer(statement: str, *names: str) -> None:
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@pytest.fixture
def empty() -> Iterator[Scratch]:
    """A database without a table."""
    yield from _database("CREATE DATABASE {}")


@pytest.fixture(scope="session")
def template() -> Iterator[str]:
    for scratch in _database("CREATE DATABASE {}"):
        scratch.manage("migrate", "--verbosity=0")
        yield scratch.name


@pytest.fixture
def migrated(template: str) -> Iterator[Scratch]:
    """A database with all tables, as migrate leaves it."""
    yield from _database("CREATE DATABASE {} TEMPLATE {}", template)


def _database(statement: str, *more: str) -> Iterator[Scratch]:
    name = f"scratch_{os.getpid()}_{next(_numbers)}"
    _administer(statement, name, *more)
    yield Scratch(name)
    _administer("DROP DATABASE {} WITH (FORCE)", name)
