"""What the engine asks of big tables rides on their indexes: no statement of it reads a whole table."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from django_durable import sql
from tests.planned import CONTROL, EXPECTED, MAILBOX, WAITS

ROWS = 20_000
BIG = {
    "durable_workflow_status",
    "durable_step_output",
    "durable_message",
    "durable_event",
    "durable_event_history",
    "durable_stream_entry",
}

STATEMENTS = {
    **WAITS,
    **MAILBOX,
    **CONTROL,
    **{
        name: EXPECTED[name]
        for name in ("claim_woken", "next_wakes", "next_due", "bounce", "hold_own_run", "read_step")
    },
}

LOAD = [
    """
    INSERT INTO durable_workflow_status (
        id, name, status, queue, priority, attempt, max_attempts, claims, claim_seq, created_at, updated_at,
        wake_at, wait_topic, wait_topics, delay_until, input, serialization, attributes, headers, awaited,
        parent_id, deduplication_id
    )
    SELECT 'run' || lpad(n::text, 6, '0'), 'w',
        CASE WHEN n %% 4 = 0 THEN 'DELAYED' ELSE 'WAITING' END, 'default',
        0, 0, 1, 0, CASE WHEN n %% 3 = 0 THEN n END, now(), now(),
        now() + (n - 50) * interval '1 second',
        CASE WHEN n %% 2 = 0 THEN 'run run' || lpad((n + 1)::text, 6, '0') WHEN n %% 7 = 0 THEN 'any' END,
        CASE WHEN n %% 7 = 0
            THEN ARRAY['run run' || lpad((n + 2)::text, 6, '0'), 'event run000001 k' || n] END,
        now() + n * interval '1 second', '{}', 'json', '{}', '{}', n %% 3 = 0,
        CASE WHEN n %% 5 = 0 THEN 'run' || lpad((n / 5)::text, 6, '0') END,
        'd' || n
    FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, serialization, attempts, started_at, completed_at
    )
    SELECT 'run' || lpad((n / 4)::text, 6, '0'), n %% 4 + 1, 's', '1', 'json', 1, now(), now()
    FROM generate_series(4, %(rows)s) AS n
    """,
    """
    INSERT INTO durable_message (workflow_id, topic, payload, serialization, sent_at)
    SELECT 'run' || lpad((n / 4)::text, 6, '0'), 't', '1', 'json', now()
    FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO durable_event (workflow_id, key, value, serialization, updated_at)
    SELECT 'run' || lpad(n::text, 6, '0'), 'key', '1', 'json', now() FROM generate_series(1, %(rows)s) AS n
    """,
    """
    INSERT INTO durable_event_history (workflow_id, key, step, value, serialization, set_at)
    SELECT 'run' || lpad((n / 4)::text, 6, '0'), 'key', n %% 4, '1', 'json', now()
    FROM generate_series(4, %(rows)s) AS n
    """,
    """
    INSERT INTO durable_stream_entry (
        workflow_id, key, position, step, value, serialization, closes, written_at
    )
    SELECT 'run' || lpad((n / 4)::text, 6, '0'), 'log', n %% 4, n %% 4, '1', 'json', false, now()
    FROM generate_series(4, %(rows)s) AS n
    """,
]


_found: dict[str, Any] = {}


@pytest.fixture
def plans(db):
    """Every statement's plan, on full tables with fresh statistics; asked once, and rolled back."""
    if not _found:
        with connection.cursor() as cursor:
            for statement in LOAD:
                cursor.execute(statement, {"rows": ROWS})
            for table in sorted(BIG):
                cursor.execute(f"ANALYZE {table}")
            for name, wanted in STATEMENTS.items():
                cursor.execute(f"EXPLAIN (FORMAT JSON) {sql.load(name)}", wanted.params)
                (plan,) = cursor.fetchone()
                _found[name] = json.loads(plan) if isinstance(plan, str) else plan
    return _found


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_reads_a_whole_table(plans, name):
    read = [
        node["Relation Name"]
        for node in nodes(plans[name][0]["Plan"])
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG
    ]
    assert read == []


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("next_wakes", "durable_wake"),
        ("claim_woken", "durable_wake"),
        ("next_due", "durable_wake_into_line"),
        ("wake_into_line", "durable_wake_into_line"),
        ("wake_for_topic", "durable_waiters"),
        ("wake_for_runs", "durable_waiters"),
        ("wake_for_topic", "durable_waiters_for_several"),
        ("wake_for_runs", "durable_waiters_for_several"),
        ("take_message", "durable_mailbox"),
        ("active_descendants", "durable_children"),
        ("bounce", "durable_deduplication"),
    ],
)
def test_a_statement_rides_on_the_index_that_was_made_for_it(plans, name, index):
    assert index in {node.get("Index Name") for node in nodes(plans[name][0]["Plan"])}
