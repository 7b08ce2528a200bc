"""The queues that the claim is measured on, each as SQL over i = 0 … n - 1: nothing is random.

A layout says where the rows lie that a claim has to pass over or prefer: in `front` of the others, `mixed`
among them or `behind` them. For the sets where all rows are alike the layout says whether a key's rows are
neighbours (front, behind) or not (mixed). With one key, or none, the three are the same queue, measured
again: their numbers differ by chance only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from django_durable.models import Limit, Queue

QUEUE = "default"
LAYOUTS = ("front", "mixed", "behind")
ORDERS = ("default", "fair")
Expression = Callable[[str, int], str]


@dataclass(frozen=True)
class DataSet:
    """`key`, `partition` and `priority` give SQL for a layout and a number of rows."""

    name: str
    orders: tuple[str, ...]
    key: Expression = lambda layout, n: "NULL"
    partition: Expression = lambda layout, n: "NULL"
    priority: Expression = lambda layout, n: "0"
    limits: dict[str, Any] = field(default_factory=dict)
    limited: tuple[str, ...] = ()  # keys with max_running 1
    running: tuple[tuple[str, int], ...] = ()  # keys or partitions, and how many runs of each are in flight
    main_layout: str = "mixed"

    def load(self, order: str, layout: str, n: int) -> None:
        """Write it into emptied tables and vacuum them."""
        with connection.cursor() as cursor:
            cursor.execute(
                "TRUNCATE durable_workflow_status, durable_queue, durable_limit, durable_rate_start"
            )
            Queue.objects.create(name=QUEUE, fair=order == "fair", **self.limits)
            Limit.objects.bulk_create([Limit(key=key, max_running=1) for key in self.limited])
            columns = {
                "key": self.key(layout, n),
                "partition": self.partition(layout, n),
                "priority": self.priority(layout, n),
            }
            cursor.execute(LOAD_READY.format(n=n, queue=QUEUE, **columns))
            names = [name for name, count in self.running for _ in range(count)]
            column = "partition_key" if self.limits else "limit_key"
            cursor.execute(LOAD_RUNNING.format(queue=QUEUE, column=column), [names])
            cursor.execute("VACUUM (FREEZE, ANALYZE) durable_workflow_status")
            cursor.execute("VACUUM ANALYZE durable_queue, durable_limit, durable_rate_start")
            cursor.execute("CHECKPOINT")


def _part(layout: str, n: int, share: int, inside: str, outside: str) -> str:
    """One row in `share` is `inside`; j counts the rows of either kind."""
    size = n // share
    chosen = {"front": f"i < {size}", "mixed": f"i % {share} = {share // 2}", "behind": f"i >= {n - size}"}
    j = f"i / {share}" if layout == "mixed" else f"i % {size}"
    return f"CASE WHEN {chosen[layout]} THEN {inside.format(j=j)} ELSE {outside.format(j=j)} END"


def _spread(name: str, keys: int) -> Expression:
    """All keys alike: neighbours in line, or every so many rows."""

    def expression(layout: str, n: int) -> str:
        by_layout = {
            "mixed": f"i % {keys}",
            "front": f"i / {n // keys}",
            "behind": f"({n} - 1 - i) / {n // keys}",
        }
        return f"'{name}' || ({by_layout[layout]})"

    return expression


def _half_busy(name: str, keys: int) -> Expression:
    """Half of the keys are busy, those with an even number."""
    even = f"'{name}' || 2 * (({{j}}) % {keys // 2})"
    odd = f"'{name}' || 2 * (({{j}}) % {keys // 2}) + 1"
    return lambda layout, n: _part(layout, n, 2, even, odd)


def _runs(name: str, numbers: range, each: int) -> tuple[tuple[str, int], ...]:
    return tuple((f"{name}{number}", each) for number in numbers)


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{number}" for number in range(count))


BOTH, FAIR, DEFAULT = ORDERS, ("fair",), ("default",)
DATA_SETS = (
    DataSet("20k-keys", FAIR, key=_spread("k", 20_000)),
    DataSet("200-of-400-busy", FAIR, key=_half_busy("k", 400), running=_runs("k", range(0, 400, 2), 3)),
    DataSet(
        "5k-urgent",
        FAIR,
        key=lambda layout, n: "'k' || i % 1000",
        priority=lambda layout, n: _part(layout, n, 20, "10", "0"),
        main_layout="behind",
    ),
    DataSet(
        "1k-keys-at-limit",
        BOTH,
        key=lambda layout, n: _part(layout, n, 2, "'b' || ({j}) % 1000", "'f' || i % 100"),
        limited=_numbered("b", 1000),
        running=_runs("b", range(1000), 1),
        main_layout="front",
    ),
    DataSet(
        "50-keys-one-deep",
        FAIR,
        key=lambda layout, n: _part(_other_end(layout), n, 20, "'k' || 1 + ({j}) % 49", "'deep'"),
    ),
    DataSet(
        "first-50k-blocked",
        BOTH,
        key=lambda layout, n: _part(layout, n, 2, "'b0'", "'f' || i % 1000"),
        limited=("b0",),
        running=(("b0", 1),),
        main_layout="front",
    ),
    DataSet("one-group", FAIR),
    DataSet(
        "whole-queue-blocked",
        BOTH,
        key=lambda layout, n: "'b0'",
        limited=("b0",),
        running=(("b0", 1),),
    ),
    DataSet("steady-400-groups", FAIR, key=_spread("k", 400), running=_runs("k", range(400), 1)),
    DataSet("8-tenants", FAIR, key=_spread("k", 8)),
    DataSet(
        "5k-partitions",
        DEFAULT,
        partition=_half_busy("p", 5000),
        limits={"partition_concurrency": 1},
        running=_runs("p", range(0, 5000, 2), 1),
    ),
    DataSet("no-limits", DEFAULT),
)


def _other_end(layout: str) -> str:
    """The deep key is what lies in front or behind, not the few others."""
    return {"front": "behind", "behind": "front"}.get(layout, layout)


LOAD_READY = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, partition_key, limit_key,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    '01930000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'), 'benchmark', 'ENQUEUED', '{queue}', {priority},
    place, place, place, pg_current_xact_id(), nextval('durable_arrival_seq'), {partition}, {key},
    0, 1, 0, now(), now(), '[[' || i || '], {{}}]', 'json', '{{}}', '{{}}', false
FROM (SELECT i, nextval('durable_line_seq') AS place FROM generate_series(0, {n} - 1) AS i) AS given
"""
LOAD_RUNNING = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, {column}, claim_token, executor_id, claim_seq, started_at,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    'running-' || number, 'benchmark', 'PENDING', '{queue}', 0, nextval('durable_line_seq'), name,
    gen_random_uuid(), gen_random_uuid(), nextval('durable_claim_seq'), now(),
    0, 1, 1, now(), now(), '[[], {{}}]', 'json', '{{}}', '{{}}', false
FROM unnest(%s::text[]) WITH ORDINALITY AS given (name, number)
"""
