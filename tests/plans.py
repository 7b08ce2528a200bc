"""Ask a server of its own how it runs the statements of the package: `python -m tests.plans` prints JSON.

state → statement → the plan, the indexes it reads of big tables, and the buffers it touches.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.planned import EXPECTED, QUEUE, Wanted

ROWS = 100_000
PINNED, PRUNED = "pinned horizon", "pinned horizon, pruned"
JOINED = "\x1f"
STATES = ("fresh statistics", PINNED, PRUNED)
HOW = ("", ", planned in general")  # with its parameters at hand, or for any, as one that is sent often
BIG = (
    "durable_workflow_status",
    "durable_step_output",
    "durable_rate_start",
    "durable_message",
    "durable_event",
    "durable_event_history",
    "durable_stream_entry",
)


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "example_project"))
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    json.dump({state: explain_all(state) for state in STATES}, sys.stdout)


def explain_all(state: str) -> dict[str, dict[str, Any]]:
    with prepared(state) as places:
        return {
            f"{name}{how}": explain(name, wanted, places, is_general=bool(how))
            for name, wanted in EXPECTED.items()
            for how in HOW
        }


@contextmanager
def prepared(state: str) -> Iterator[dict[str, Any]]:
    """Load the tables; gives what stands for the places from which a tail or a floor reads."""
    from django.db import connection

    from tests.benchmarks.pinned import hold_snapshot

    pin = connection.copy()
    with connection.cursor() as cursor:
        load(cursor)
        if state != STATES[0]:
            hold_snapshot(pin)
            cursor.execute(CLAIM_ALL)
            cursor.execute(PRUNE_ALL if state == PRUNED else SETTLE_ALL)
            cursor.execute("VACUUM ANALYZE durable_workflow_status")
        cursor.execute(PLACES)
        places = dict(zip(("floor", "arrival", "oldest", "xmax"), cursor.fetchone(), strict=True))
        cursor.execute(ARRIVE)
        if state == STATES[0]:
            cursor.execute("VACUUM ANALYZE durable_workflow_status")
    try:
        yield places
    finally:
        pin.close()


def load(cursor: Any) -> None:
    from django_durable.models import Limit, Queue
    from tests.benchmarks.data_sets import LOAD_READY, LOAD_RUNNING

    cursor.execute("ALTER SYSTEM SET autovacuum = off")
    cursor.execute("SELECT pg_reload_conf()")
    cursor.execute(f"TRUNCATE durable_queue, durable_limit, {', '.join(BIG)}")
    Queue.objects.create(name=QUEUE)
    Limit.objects.bulk_create([Limit(key=f"k{number}", max_running=5) for number in range(1000)])
    ready = LOAD_READY.format(n=ROWS, queue=QUEUE, key="'k' || mod(i, 400)", partition="NULL", priority="0")
    cursor.execute(ready + " ORDER BY hashint4(i)")
    cursor.execute(LOAD_RUNNING.format(queue=QUEUE, column="limit_key"), [[f"k{n}" for n in range(400)]])
    cursor.execute(LOAD_OTHERS)
    cursor.execute(LOAD_STARTS)
    for text in LOAD_WHAT_HANGS:
        cursor.execute(text)
    cursor.execute("VACUUM ANALYZE")


def explain(name: str, wanted: Wanted, places: dict[str, Any], *, is_general: bool) -> dict[str, Any]:
    """Run the statement, sorts forbidden if it is sent so, and undo it."""
    from django.db import connection, transaction

    from django_durable import sql
    from django_durable.models.plans import Prepared
    from django_durable.models.sending import UNSORTED

    text = sql.load(name)
    kept = Prepared.of("explained", text)
    with transaction.atomic(), connection.cursor() as cursor:
        if is_general:
            cursor.execute(f"{sql.load('plan_in_general')}; {kept.make}")
            text = kept.use
        if name in UNSORTED:
            cursor.execute(sql.load("forbid_sorts"))
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) {text}", _placed(wanted.params, places))
        plan = "\n".join(line for (line,) in cursor.fetchall())
        if is_general:
            cursor.execute(kept.drop)
        transaction.set_rollback(True)
    body = plan.split("Planning:")[0]
    used = re.findall(rf"using (\w+) on (?:{'|'.join(BIG)})\b|Bitmap Index Scan on (\w+)", body)
    buffers = re.search(r"Buffers: ([^\n]*)", body)
    return {
        "plan": plan,
        "indexes": sorted({one or other for one, other in used}),
        "buffers": sum(map(int, re.findall(r"(?:hit|read)=(\d+)", buffers[1]))) if buffers else 0,
    }


def _placed(params: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    """Fill in the places for their names."""

    def place(value: Any) -> Any:
        if isinstance(value, list):
            return [place(one) for one in value]
        if isinstance(value, str) and JOINED in value:
            return JOINED.join(str(place(one)) for one in value.split(JOINED))
        return places.get(value, value) if isinstance(value, str) else value

    return {name: place(value) for name, value in params.items()}


PLACES = """
SELECT
    (SELECT last_value FROM durable_line_seq), (SELECT last_value FROM durable_arrival_seq),
    (SELECT coalesce(min(claim_seq), nextval('durable_claim_seq')) FROM durable_workflow_status),
    pg_snapshot_xmax(pg_current_snapshot())::text
"""
CLAIM_ALL = """
UPDATE durable_workflow_status
SET status = 'PENDING', claim_token = gen_random_uuid(), executor_id = gen_random_uuid(),
    claim_seq = nextval('durable_claim_seq'), started_at = now(),
    line = NULL, group_line = NULL, enqueued_xid = NULL, arrival = NULL
WHERE status = 'ENQUEUED'
"""
SETTLE_ALL = """
UPDATE durable_workflow_status
SET status = 'SUCCESS', completed_at = now(), claim_seq = NULL, claim_token = NULL, executor_id = NULL
WHERE status = 'PENDING'
"""
PRUNE_ALL = "DELETE FROM durable_workflow_status WHERE status = 'PENDING'"
ARRIVE = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, limit_key,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    'live' || lpad(i::text, 8, '0'), 'benchmark', 'ENQUEUED', 'default', 0, place, place, place,
    pg_current_xact_id(), nextval('durable_arrival_seq'), 'k' || i,
    0, 1, 0, now(), now(), '[[], {}]', 'json', '{}', '{}', false
FROM (SELECT i, nextval('durable_line_seq') AS place FROM generate_series(0, 39) AS i) AS given
"""
LOAD_OTHERS = """
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, delay_until, completed_at, wake_at,
    attempt, max_attempts, claims, created_at, updated_at, input, serialization, attributes, headers, awaited
)
SELECT
    'other' || i, 'benchmark', status, 'default', 0, i,
    CASE WHEN status = 'DELAYED' THEN now() + interval '1 day' END,
    CASE WHEN status = 'SUCCESS' THEN now() END,
    CASE WHEN status = 'WAITING' THEN now() + interval '1 day' END,
    0, 1, 0, now(), now(), '[[], {}]', 'json', '{}', '{}', false
FROM (
    SELECT i, (ARRAY['DELAYED', 'WAITING', 'SUCCESS', 'SUCCESS'])[1 + mod(i, 4)] AS status
    FROM generate_series(1, 4000) AS i
) AS given
"""
LOAD_STARTS = """
INSERT INTO durable_rate_start (bucket, started_at)
SELECT E'limit\\x1fk' || mod(i, 400), now() - i * interval '1 second' FROM generate_series(1, 50000) AS i
"""
LOAD_WHAT_HANGS = (
    """
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, attempts, started_at, completed_at, serialization
    )
    SELECT 'ended' || i / 5, i % 5 + 1, 'step', 'null', 1, now(), now(), 'json'
    FROM generate_series(1, 100000) AS i
    """,
    """
    INSERT INTO durable_message (workflow_id, topic, payload, serialization, sent_at)
    SELECT 'ended' || i / 5, 't', '1', 'json', now() FROM generate_series(1, 100000) AS i
    """,
    """
    INSERT INTO durable_event (workflow_id, key, value, serialization, updated_at)
    SELECT 'ended' || i, 'key', '1', 'json', now() FROM generate_series(1, 100000) AS i
    """,
    """
    INSERT INTO durable_event_history (workflow_id, key, step, value, serialization, set_at)
    SELECT 'ended' || i / 5, 'key', i % 5, '1', 'json', now() FROM generate_series(1, 100000) AS i
    """,
    """
    INSERT INTO durable_stream_entry (
        workflow_id, key, position, step, value, serialization, closes, written_at
    )
    SELECT 'ended' || i / 5, 'log', i % 5, i % 5, '1', 'json', false, now()
    FROM generate_series(1, 100000) AS i
    """,
)

if __name__ == "__main__":
    main()
