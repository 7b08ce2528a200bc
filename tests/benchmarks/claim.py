"""One claim of 20 from 100 000 and 1 000 000 ready rows, with its commit, beside ranking the whole line.

Cold: a claimer without remembered positions, on a connection that claimed before; what it took is put back
and vacuumed away before the next, so that each sees the same queue. Warm: the process keeps positions where
it finds that they pay; claims follow one another, and between them what was claimed is settled and as many
rows arrive. Both as a worker does it:
the question which queues have work comes first and is not part of the time. Medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.test.utils import override_settings

from django_durable import sql
from django_durable.claim.claimer import Claimer
from tests.benchmarks.data_sets import DATA_SETS, LAYOUTS, QUEUE, DataSet
from tests.benchmarks.full_ranking import claim_by_full_ranking
from tests.benchmarks.report import Report

SLOTS = 20
SIZES = (100_000, 1_000_000)
ROUNDS = 15


class Cost(NamedTuple):
    """Seconds by the clock, which busy neighbours change, and of processor time here and in the server."""

    seconds: float
    cpu: float


def run(quick: bool, only: Sequence[str], sizes: Sequence[int] = ()) -> Report:
    """Quick: the main layout alone, and unless sizes are given the smaller one."""
    report = Report("claim")
    for rows in sizes or (SIZES[:1] if quick else SIZES):
        for data_set in DATA_SETS:
            if not only or data_set.name in only:
                _measure(report, data_set, rows, quick)
    return report


def _measure(report: Report, data_set: DataSet, rows: int, quick: bool) -> None:
    for order in data_set.orders:
        for layout in [data_set.main_layout] if quick else LAYOUTS:
            data_set.load(order, layout, rows)
            full = full_ranking(order)
            named = {"data": data_set.name, "order": order, "layout": layout, "rows": rows}
            for state, measure in (("cold", cold), ("warm", warm)):
                taken = measure()
                found = {"full_ranking_ms": round(full, 1), "cpu_ms": round(taken.cpu * 1000, 2)}
                report.add("claim", taken.seconds * 1000, "ms", **named, state=state, **found)


def full_ranking(order: str, rounds: int = 3) -> float:
    def claim() -> list[str]:
        return claim_by_full_ranking(QUEUE, SLOTS, order == "fair")

    expected = [run.id for run in _claimer("never").claim(QUEUE, SLOTS).runs]
    put_back(expected)
    times = []
    for _ in range(rounds):
        seconds, taken = timed(claim)
        if set(taken) != set(expected):
            raise AssertionError(
                f"the claim takes {sorted(expected)}, ranking the whole line {sorted(taken)}"
            )
        put_back(taken)
        times.append(seconds)
    return statistics.median(times) * 1000


def cold() -> Cost:
    costs = []
    for _ in range(ROUNDS + 1):
        claimer = _claimer("never")
        claimer.queues_with_work([QUEUE])
        cost, taken = measured(claimer)
        put_back(taken)
        costs.append(cost)
    return median(costs[1:])


def warm() -> Cost:
    costs = []
    with override_settings(DURABLE={"CURSORS": "auto"}):
        claimer = Claimer(uuid4(), "default")
        for _ in range(ROUNDS + 3):
            claimer.queues_with_work([QUEUE])
            cost, taken = measured(claimer)
            replace(taken)
            costs.append(cost)
    return median(costs[3:])


def _claimer(cursors: str) -> Claimer:
    with override_settings(DURABLE={"CURSORS": cursors}):
        return Claimer(uuid4(), "default")


def measured(claimer: Claimer) -> tuple[Cost, list[str]]:
    server, own = server_cpu(), time.process_time()
    seconds, taken = timed(lambda: [run.id for run in claimer.claim(QUEUE, SLOTS).runs])
    return Cost(seconds, time.process_time() - own + server_cpu() - server), taken


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


def server_cpu() -> float:
    """Seconds of processor time that the server spent on this connection; 0 where Linux does not tell."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        told = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")
    return int(told.read_text().split()[0]) / 1e9 if told.exists() else 0.0


def timed(claim: Callable[[], list[str]]) -> tuple[float, list[str]]:
    started = time.perf_counter()
    taken = claim()
    return time.perf_counter() - started, taken


def put_back(ids: list[str]) -> None:
    """Make the queue what it was before these were claimed."""
    with connection.cursor() as cursor:
        cursor.execute(PUT_BACK, [ids])
        cursor.execute("DELETE FROM durable_rate_start")
        cursor.execute("VACUUM durable_workflow_status")
        plan_again(cursor)


def plan_again(cursor: CursorWrapper) -> None:
    """Make the session's plans, which VACUUM threw away: in a worker the next of many claims would do so."""
    cursor.execute("SELECT name, cardinality(parameter_types) FROM pg_prepared_statements")
    known = cursor.fetchall()
    with transaction.atomic():
        cursor.execute(sql.load("plan_in_general"))
        for name, parameters in known:
            cursor.execute(f"EXPLAIN EXECUTE {name} ({', '.join(['NULL'] * parameters)})".replace("()", ""))


def replace(ids: list[str]) -> None:
    """Settle what was claimed; as many rows with the same keys arrive behind the line."""
    with connection.cursor() as cursor:
        cursor.execute(ARRIVE, [ids])
        cursor.execute(SETTLE, [ids])


PUT_BACK = """
UPDATE durable_workflow_status
SET status = 'ENQUEUED', line = seq, group_line = seq, enqueued_xid = pg_current_xact_id(),
    arrival = nextval('durable_arrival_seq'), claims = 0, claim_seq = NULL, claim_token = NULL,
    executor_id = NULL, started_at = NULL
WHERE id = ANY(%s)
"""
SETTLE = """
UPDATE durable_workflow_status
SET status = 'SUCCESS', completed_at = now(), claim_seq = NULL, claim_token = NULL, executor_id = NULL
WHERE id = ANY(%s)
"""
ARRIVE = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, partition_key, limit_key,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    gen_random_uuid()::text, name, 'ENQUEUED', queue, priority, place, place, place, pg_current_xact_id(),
    nextval('durable_arrival_seq'), partition_key, limit_key,
    0, 1, 0, now(), now(), input, serialization, attributes, headers, awaited
FROM (
    SELECT *, nextval('durable_line_seq') AS place
    FROM durable_workflow_status WHERE id = ANY(%s) ORDER BY seq
) AS claimed
"""
