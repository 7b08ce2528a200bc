"""Each test starts its workers by `start`; whatever happens, none outlives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lifecycle.workers import WorkerProcess

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(transactional_db: None, tmp_path: Path) -> Iterator[Start]:
    workers: list[WorkerProcess] = []

    def start_worker(*arguments: str, **environment: str) -> WorkerProcess:
        workers.append(WorkerProcess(tmp_path, *arguments, **environment))
        return workers[-1]

    yield start_worker
    for worker in workers:
        worker.kill()
        print(f"--- {worker.name}\n{worker.lines}")
