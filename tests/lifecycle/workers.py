"""Workers as real processes on the test's database, and waiting for facts about them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from django_durable.models import Executor, WorkflowStatus
from tests.dispositions import as_from_a_terminal
from tests.testapp.models import Probe

LONGEST = 30.0
GLANCE = 0.02
LEASE = 2.0
_numbers = count(1)

T = TypeVar("T")


def until(fact: Callable[[], T], seconds: float = LONGEST) -> T:
    """Wait for a fact; returns it."""
    end = time.monotonic() + seconds
    while not (found := fact()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain for {fact}"
        time.sleep(GLANCE)
    return found


class WorkerProcess:
    """`run_queues` in a process group of its own."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        number = next(_numbers)
        self.name = f"durable-worker-{os.getpid()}-{number}"
        self.log = folder / f"worker-{number}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "django", "run_queues", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(PGAPPNAME=self.name, **environment),
                start_new_session=True,
                preexec_fn=as_from_a_terminal,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def lines(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def says(self, text: str) -> WorkerProcess:
        """Wait until its log holds this."""
        until(lambda: self._has_said(text))
        return self

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """Ask it to drain; returns its exit code."""
        self.send(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds: float = LONGEST) -> int:
        return self.process.wait(seconds)

    def kill(self) -> None:
        """kill -9 of the whole group; when it returns, PostgreSQL has noticed and commits nothing more."""
        if self.is_running:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        until(lambda: not self.backends())

    def backends(self) -> list[int]:
        """PostgreSQL's processes that serve it."""
        return _column("SELECT pid FROM pg_stat_activity WHERE application_name = %s", self.name)

    def executor(self) -> Executor:
        """Its registration."""
        own = Executor.objects.filter(pid=self.pid).order_by("-started_at")
        until(own.exists)
        return own[0]

    def owned(self) -> list[str]:
        """The ids of what runs here."""
        rows = WorkflowStatus.objects.filter(status="PENDING", executor__pid=self.pid)
        return list(rows.values_list("id", flat=True))

    def _has_said(self, text: str) -> bool:
        is_running = self.is_running  # asked first: its last words count
        said = re.search(text, self.lines) is not None
        assert said or is_running, f"it ended without {text!r}:\n{self.lines}"
        return said


def open_gate(gate: str) -> None:
    Probe.note(gate, "", "open")


def hits() -> dict[tuple[str, str], int]:
    """How often each step's body left its trace, by run and step."""
    found: dict[tuple[str, str], int] = {}
    for run, place in Probe.objects.filter(ev="hit").values_list("run_id", "step"):
        found[run, place] = found.get((run, place), 0) + 1
    return found


def statuses() -> dict[str, int]:
    found: dict[str, int] = {}
    for status in WorkflowStatus.objects.values_list("status", flat=True):
        found[status] = found.get(status, 0) + 1
    return found


def are_all(status: str) -> Callable[[], bool]:
    return lambda: set(statuses()) == {status}


def terminate_backends(worker: WorkerProcess) -> int:
    """Cut all its connections from the server's side."""
    return sum(
        _column(
            "SELECT pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE application_name = %s",
            worker.name,
        )
    )


def _column(statement: str, *params: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [value for (value,) in cursor.fetchall()]


def database_url() -> str:
    """Of the test's own database."""
    url = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(url._replace(path=f"/{connection.settings_dict['NAME']}"))


def _environment(**more: str) -> dict[str, str]:
    own = {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "tests.lifecycle.settings",
        "DURABLE_LEASE": str(LEASE),
        "PYTHONUNBUFFERED": "1",
    }
    return {**os.environ, **own, **more}
