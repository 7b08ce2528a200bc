"""A database that is not there, and a line to it that went dead without a word."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from django_durable.core.states import Status
from django_durable.models import WorkflowStatus
from tests.lifecycle.proxy import Proxy
from tests.lifecycle.workers import are_all, database_url, open_gate, terminate_backends, until
from tests.testapp.lifecycle_workflows import gated, six_steps
from tests.testapp.models import Probe


@pytest.fixture
def proxy(transactional_db: None, tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path, database_url())
    yield proxy
    proxy.close()


def entered() -> int:
    return Probe.objects.filter(ev="enter").count()


def test_a_worker_without_a_database_waits_for_it_and_ends_when_it_is_told_to(start, tmp_path):
    nowhere = f"postgresql://postgres@/nowhere?host={tmp_path}&port=1"
    worker = start(DATABASE_URL=nowhere).says("lost the database 'default', everything waits for it")
    began = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - began < 10
    assert worker.lines.count("lost the database") == 1
    assert "Traceback" not in worker.lines


def test_a_worker_that_found_no_database_works_when_it_comes(start, tmp_path):
    folder = tmp_path / "later"
    folder.mkdir()
    run = six_steps.enqueue()
    url = f"postgresql://postgres@/{database_url().split('/')[3].split('?')[0]}?host={folder}&port=5432"
    start(DATABASE_URL=url).says("lost the database")
    proxy = Proxy(folder, database_url())
    try:
        until(lambda: run.status == Status.SUCCESS)
    finally:
        proxy.close()


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"path": "/nowhere"}, 'database "nowhere" does not exist'),
        ({"netloc": "nobody@"}, 'role "nobody" does not exist'),
        ({"path": "/"}, "Please supply the NAME or OPTIONS['service'] value."),
    ],
    ids=["no database", "no role", "no name"],
)
def test_a_database_that_no_waiting_will_bring_ends_the_start_in_one_line(start, change, told, processes):
    wrong = urlsplit(database_url())._replace(**change).geturl()
    worker = start("--processes", processes, DATABASE_URL=wrong, DURABLE_LEASE="5")
    assert worker.wait() == 1
    (line,) = worker.lines.splitlines()
    assert line.startswith("CommandError: ")
    assert line.endswith(told)


def test_a_worker_that_once_had_its_database_waits_for_it_whatever_it_is_told(start, proxy):
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE durable_passing LOGIN SUPERUSER")
    try:
        address = urlsplit(proxy.url)._replace(netloc="durable_passing@").geturl()
        worker = start(DATABASE_URL=address).says("registered")
        with connection.cursor() as cursor:
            cursor.execute("ALTER ROLE durable_passing RENAME TO durable_passing_away")
        terminate_backends(worker)
        worker.says("lost the database")
        run = six_steps.enqueue()
        with connection.cursor() as cursor:
            cursor.execute("ALTER ROLE durable_passing_away RENAME TO durable_passing")
        until(lambda: run.status == Status.SUCCESS)
        assert worker.stop() == 0
    finally:
        worker.kill()
        with connection.cursor() as cursor:
            cursor.execute("DROP ROLE IF EXISTS durable_passing, durable_passing_away")


def test_lines_that_went_dead_are_cut_and_opened_anew(start, proxy):
    worker = start(DATABASE_URL=proxy.url).says("registered")
    first = six_steps.enqueue()
    until(lambda: first.status == Status.SUCCESS)
    proxy.deaden()
    second = six_steps.enqueue()
    worker.says("has waited . s for the database; its connection is cut")
    until(lambda: second.status == Status.SUCCESS)
    assert worker.stop() == 0


def test_over_dead_lines_it_still_ends_and_another_takes_over(start, proxy):
    run = gated.enqueue("g")
    worker = start("--shutdown-timeout=1", DATABASE_URL=proxy.url)
    until(lambda: entered() == 1)
    proxy.deaden()
    began = time.monotonic()
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert time.monotonic() - began < 15
    assert WorkflowStatus.objects.get(pk=run.id).status == Status.PENDING
    open_gate("g")
    start()
    until(are_all(Status.SUCCESS))
