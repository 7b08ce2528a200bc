"""Polls while another transaction holds the xmin horizon: claimed rows stay in every index as a graveyard.

The graveyard's heap is in random order. `plain`: a queue without limits, nothing alive but what arrives.
`keyed`: beside the graveyard live rows of a key at its limit, and 5 000 groups. A poll asks which queues have
work and claims; five rows arrive before each. The clock of the positions goes on a tenth of a second a poll,
so full passes come as often as in a real process. Buffers are what the database touched, catalogs with it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from uuid import uuid4

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test.utils import override_settings

from django_durable.claim import cursors
from django_durable.claim.claimer import Claimer
from django_durable.models import Limit, Queue
from tests.benchmarks.data_sets import LOAD_READY, LOAD_RUNNING, QUEUE
from tests.benchmarks.report import Report

SLOTS = 20
ARRIVALS = 5
CADENCE = 0.1
KEYS = {"plain": "NULL", "keyed": "'g' || mod(i, 5000)"}


def run(quick: bool, only: Sequence[str]) -> Report:
    report = Report("pinned")
    dead, polls = (40_000, 60) if quick else (200_000, 200)
    for shape in KEYS:
        if not only or shape in only:
            with (
                pinned_horizon(shape, dead, blocked=dead // 10),
                override_settings(DURABLE={"CURSORS": "always"}),
            ):
                _measure(report, shape, dead, polls)
    return report


def _measure(report: Report, shape: str, dead: int, polls: int) -> None:
    named = {"shape": shape, "dead": dead, "polls": polls}
    loop = Loop(shape)
    for _ in range(polls):
        loop.poll()
    report.add("poll_buffers", statistics.median(loop.buffers[1:]), "buffers", **named)
    report.add("poll_ms", statistics.median(loop.seconds[1:]) * 1000, "ms", **named)
    report.add("loop_buffers", sum(loop.buffers), "buffers", **named)
    report.add("claimed_of_arrived", loop.claimed / loop.arrived, "share", **named)


class Loop:
    """One claimer's polls, and what arrives before each."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.clock = 1000.0
        vars(cursors)["time"] = SimpleNamespace(monotonic=lambda: self.clock)
        self.claimer = Claimer(uuid4(), "default")
        self.buffers: list[int] = []
        self.seconds: list[float] = []
        self.arrived = self.claimed = 0

    def poll(self) -> None:
        expected = arrive(self.shape, self.arrived)
        self.arrived += len(expected)
        self.clock += CADENCE
        before = buffers()
        started = time.perf_counter()
        self.claimer.queues_with_work([QUEUE])
        taken = [run.id for run in self.claimer.claim(QUEUE, SLOTS).runs]
        self.seconds.append(time.perf_counter() - started)
        self.buffers.append(buffers() - before)
        if self.shape == "plain" and taken != expected:
            raise AssertionError(f"{expected} arrived, {taken} was claimed")
        self.claimed += len(taken)
        end(taken)


def arrive(shape: str, number: int) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(ARRIVE.format(queue=QUEUE, key=KEYS[shape]), [number, number + ARRIVALS - 1])
        return [workflow_id for (workflow_id,) in cursor.fetchall()]


def end(ids: list[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(END + " WHERE id = ANY(%s)", [ids])


@contextmanager
def pinned_horizon(shape: str, dead: int, blocked: int) -> Iterator[None]:
    pin = connection.copy()
    try:
        build(shape, dead, blocked, lambda: hold_snapshot(pin))
        yield
    finally:
        pin.close()


def build(shape: str, dead: int, blocked: int, pin: Callable[[], None]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE durable_workflow_status, durable_queue, durable_limit, durable_rate_start")
        Queue.objects.create(name=QUEUE)
        columns = {"partition": "NULL", "priority": "0"}
        text = LOAD_READY.format(n=dead, queue=QUEUE, key=KEYS[shape], **columns)
        cursor.execute(text + " ORDER BY hashint4(i)")
        pin()
        cursor.execute(CLAIM)
        cursor.execute(END + " WHERE status = 'PENDING'")
        if shape == "keyed":
            Limit.objects.create(key="full", max_running=1)
            text = LOAD_READY.format(n=blocked, queue=QUEUE, key="'full'", **columns)
            cursor.execute(text.replace("01930000", "01940000"))
            cursor.execute(LOAD_RUNNING.format(queue=QUEUE, column="limit_key"), [["full"]])
        cursor.execute("VACUUM ANALYZE durable_workflow_status")
        cursor.execute("CHECKPOINT")


def hold_snapshot(pin: BaseDatabaseWrapper) -> None:
    with pin.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT count(*) FROM durable_workflow_status")


def buffers() -> int:
    """What all sessions touched so far, this one included."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


CLAIM = """
UPDATE durable_workflow_status
SET status = 'PENDING', claim_token = gen_random_uuid(), executor_id = gen_random_uuid(),
    claim_seq = nextval('durable_claim_seq'), started_at = now(),
    line = NULL, group_line = NULL, enqueued_xid = NULL, arrival = NULL
WHERE status = 'ENQUEUED'
"""
END = """
UPDATE durable_workflow_status
SET status = 'SUCCESS', completed_at = now(), claim_seq = NULL, claim_token = NULL, executor_id = NULL
"""
ARRIVE = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, limit_key,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    'arrival' || lpad(i::text, 8, '0'), 'benchmark', 'ENQUEUED', '{queue}', 0, place, place, place,
    pg_current_xact_id(), nextval('durable_arrival_seq'), {key},
    0, 1, 0, now(), now(), '[[], {{}}]', 'json', '{{}}', '{{}}', false
FROM (SELECT i, nextval('durable_line_seq') AS place FROM generate_series(%s, %s) AS i) AS given
RETURNING id
"""
