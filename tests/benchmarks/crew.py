"""Worker processes of a benchmark, and what they use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def workers(count: int, *arguments: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """`run_queues` processes that end with the block; `{number}` in an argument is that of its process."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.benchmarks.worker_settings"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "example_project")])
    command = [sys.executable, "-m", "django", "run_queues", "-v0", *arguments]
    crew = [
        subprocess.Popen(
            [part.format(number=number) for part in command],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )
        for number in range(count)
    ]
    try:
        yield crew
    finally:
        for worker in crew:
            worker.send_signal(signal.SIGTERM)
        for worker in crew:
            worker.wait(60)


def until(fact: Callable[[], bool], seconds: float, glance: float = 0.02) -> float:
    """Wait for a fact; returns how long that took."""
    started = time.monotonic()
    while not fact():
        if time.monotonic() - started > seconds:
            raise TimeoutError(f"not within {seconds:g} s")
        rest(glance)
    return time.monotonic() - started


def rest(seconds: float) -> None:
    """Let the workers go on by themselves."""
    threading.Event().wait(seconds)


def rss_mb(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
