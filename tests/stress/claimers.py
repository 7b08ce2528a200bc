"""Claimers in processes of their own that end at once what they claimed, and a record of what ran when.

    python -m tests.stress.claimers '{"queues": ["one"], "slots": 20, "seconds": 20}'

is one of them; it says "ready" and waits for a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

IDLE = 0.001  # seconds to rest where nothing could be claimed


class Ran(NamedTuple):
    """One run, by the database's clock."""

    key: str
    started_at: datetime
    ended_at: datetime


class Crew:
    """Some claimers that start together; `finish` waits for them."""

    def __init__(self, lines: Iterable[Sequence[str]], slots: int, seconds: float, dbname: str) -> None:
        address = urlsplit(os.environ["DATABASE_URL"])
        environ = {**os.environ, "DATABASE_URL": urlunsplit(address._replace(path=f"/{dbname}"))}
        self.processes = []
        for queues in lines:
            task = json.dumps({"queues": list(queues), "slots": slots, "seconds": seconds})
            command = [sys.executable, "-m", "tests.stress.claimers", task]
            self.processes.append(
                subprocess.Popen(
                    command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def start(self) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def finish(self) -> tuple[int, list[str]]:
        """How many runs were claimed, and every error."""
        answers = [json.loads(process.communicate()[0]) for process in self.processes]
        return sum(answer["claimed"] for answer in answers), [
            error for answer in answers for error in answer["errors"]
        ]

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


def prepare_record() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS claimers_record")
        cursor.execute(
            "CREATE TABLE claimers_record (key text, started_at timestamptz, ended_at timestamptz)"
        )


def read_record() -> list[Ran]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT key, started_at, ended_at FROM claimers_record")
        return [Ran(*row) for row in cursor.fetchall()]


def most_at_once(runs: Iterable[Ran]) -> dict[str, list[tuple[datetime, int]]]:
    """For each key, at each start, how many ran then, the new one with them."""
    by_key: dict[str, list[Ran]] = defaultdict(list)
    for run in runs:
        by_key[run.key].append(run)
    return {key: _levels(of_key) for key, of_key in by_key.items()}


def _levels(runs: list[Ran]) -> list[tuple[datetime, int]]:
    events = sorted([(run.started_at, 1) for run in runs] + [(run.ended_at, -1) for run in runs])
    level, levels = 0, []
    for moment, change in events:
        level += change
        if change == 1:
            levels.append((moment, level))
    return levels


def most_starts(moments: Iterable[datetime], window: timedelta) -> int:
    """The most of these moments that any stretch of time as long as the window holds."""
    ordered = sorted(moments)
    most = first = 0
    for last, moment in enumerate(ordered):
        while moment - ordered[first] >= window:
            first += 1
        most = max(most, last - first + 1)
    return most


def work(queues: Sequence[str], slots: int, seconds: float) -> dict[str, Any]:
    from django.db import DatabaseError

    from django_durable.claim.claimer import Claimer

    claimer = Claimer(uuid4(), "default")
    claimed, errors = 0, []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = 0
        for queue in queues:
            try:
                claimer.queues_with_work([queue])
                runs = claimer.claim(queue, slots).runs
                _end([run.id for run in runs])
                found += len(runs)
            except DatabaseError as error:
                errors.append(f"{type(error).__name__}: {error}")
        claimed += found
        if not found:
            time.sleep(IDLE)
    return {"claimed": claimed, "errors": errors}


def _end(ids: list[str]) -> None:
    """Write down that they ran, and put them back in line behind all others."""
    from django.db import connection, transaction

    if ids:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(RECORD, [ids])
            cursor.execute(PUT_IN_LINE, [ids])


def main() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.db import connection

    connection.ensure_connection()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(work(**json.loads(sys.argv[1]))), flush=True)


RECORD = """
INSERT INTO claimers_record
SELECT limit_key, started_at, clock_timestamp() FROM durable_workflow_status WHERE id = ANY(%s)
"""
PUT_IN_LINE = """
UPDATE durable_workflow_status AS w
SET status = 'ENQUEUED', seq = p.place, line = p.place, group_line = p.place,
    enqueued_xid = pg_current_xact_id(), arrival = nextval('durable_arrival_seq'),
    claim_seq = NULL, claim_token = NULL, executor_id = NULL
FROM (
    SELECT id, nextval('durable_line_seq') AS place FROM durable_workflow_status
    WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
) AS p
WHERE w.id = p.id
"""

if __name__ == "__main__":
    main()
