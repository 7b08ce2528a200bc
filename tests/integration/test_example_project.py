"""The example project as a newcomer meets it: every command a process, on a database of the test's own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.dispositions import as_from_a_terminal

MANAGE = Path(__file__).parents[2] / "example_project" / "manage.py"
PROCESS = re.compile(r"\(process (\d+)\)")


class Shop(NamedTuple):
    """A shop with tables and files of its own."""

    url: str
    files: Path

    def environ(self, changes: Mapping[str, str]) -> dict[str, str]:
        foreign = ("DJANGO_", "DURABLE_", "SHOP_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        return {**kept, "DATABASE_URL": self.url, "SHOP_FILES": str(self.files), **changes}

    def start(self, *command: str, **changes: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, MANAGE, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environ(changes),
            preexec_fn=as_from_a_terminal,
        )

    def run(self, *command: str, **changes: str) -> tuple[int, str]:
        process = self.start(*command, **changes)
        output, _ = process.communicate()
        return process.returncode, output

    def count(self, table: str) -> int:
        with psycopg.connect(self.url) as connection:
            query = sql.SQL("SELECT FROM {}").format(sql.Identifier(table))
            return connection.execute(query).rowcount


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    given, name = os.environ["DATABASE_URL"], f"windsock_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield Shop(urlsplit(given)._replace(path=f"/{name}").geturl(), tmp_path)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def assert_nobody_left(output: str) -> None:
    processes = [int(number) for number in PROCESS.findall(output)]
    assert processes
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.killpg(number, 0)


def test_its_settings_pass_djangos_checks_without_a_server(shop: Shop) -> None:
    assert shop.run("check", "--fail-level", "WARNING", DATABASE_URL="", DEVDB_BIN="/nowhere") == (
        0,
        "System check identified no issues (0 silenced).\n",
    )


def test_its_migrations_match_its_models(shop: Shop) -> None:
    code, output = shop.run("makemigrations", "--check", "--dry-run")
    assert (code, output) == (0, "No changes detected\n")


def test_its_own_tests_pass(shop: Shop) -> None:
    code, output = shop.run("test", "shop")
    assert code == 0, output
    assert re.search(r"Ran [1-9]\d* tests", output)


@pytest.mark.timeout(240)  # two demos, each as patient as a busy machine needs
def test_the_demo_loses_and_doubles_nothing_and_a_second_one_keeps_its_data(shop: Shop) -> None:
    code, output = shop.run("demo", "--quick")
    assert code == 0, output
    assert re.search(r"kill -9 worker [AB] \(process \d+\)\n +[1-9]\d* workflows were running in it", output)
    assert "ok    orders    60 of 60 done" in output
    assert "ok    rows      6,000 of 6,000 imported once" in output
    assert "just made; for development only" in output
    assert "runserver" in output
    assert_nobody_left(output)
    again, output = shop.run("demo", "--quick")
    assert again == 0, output
    assert "user admin, as you left it" in output
    assert shop.count("shop_order") == 120
    assert shop.count("shop_importedrow") == 12_000


def test_a_demo_whose_work_is_left_undone_says_so_and_fails(shop: Shop) -> None:
    code, output = shop.run("demo", "--orders", "40", "--rows", "2000", "--patience", "0.2")
    assert code == 1
    assert "gave up after 0.2 s" in output
    assert re.search(r"WRONG orders +\d+ of 40 done", output)
    assert "something was lost, doubled or left undone" in output
    assert_nobody_left(output)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_demo_that_is_stopped_stops_its_workers(shop: Shop, number: signal.Signals, code: int) -> None:
    demo = shop.start("demo", "--quick")
    assert demo.stdout is not None
    seen = ""
    while " work " not in seen:
        line = demo.stdout.readline()
        assert line, seen
        seen += line
    demo.send_signal(number)
    rest, _ = demo.communicate()
    assert demo.returncode == code, seen + rest
    assert_nobody_left(seen)


@pytest.mark.parametrize("lines", [1, 8])
def test_a_demo_whose_reader_goes_away_ends_without_a_word(shop: Shop, lines: int) -> None:
    complaints = shop.files / "complaints"
    with complaints.open("wb") as stderr:
        demo = subprocess.Popen(
            [sys.executable, MANAGE, "demo", "--quick"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=shop.environ({}),
        )
    assert demo.stdout is not None
    seen = "".join(demo.stdout.readline() for _ in range(lines))
    demo.stdout.close()
    assert demo.wait() == 141
    assert complaints.read_text() == ""
    if lines > 1:
        assert_nobody_left(seen)
