"""The claim as one statement that ranks the whole line: what the windows are measured against."""

from __future__ import annotations

from uuid import uuid4

from django.db import connection, transaction


def claim_by_full_ranking(queue: str, slots: int, fair: bool) -> list[str]:
    """Take up to `slots` runs; the same ones as the claim, for rows with one key each."""
    params = {"queue": queue, "slots": slots, "executor": uuid4(), "token": uuid4()}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(STATEMENT.format(order="rank, turn, line" if fair else "rank, line"), params)
        return [workflow_id for (workflow_id,) in cursor.fetchall()]


STATEMENT = """
WITH running AS MATERIALIZED (
    SELECT partition_key, limit_key, group_key FROM durable_workflow_status
    WHERE queue = %(queue)s AND claim_seq IS NOT NULL
), key_room AS MATERIALIZED (
    SELECT l.key AS limit_key, l.max_running - count(r.limit_key) AS room
    FROM durable_limit AS l LEFT JOIN running AS r ON r.limit_key = l.key GROUP BY l.key
), partition_used AS MATERIALIZED (
    SELECT partition_key, count(*) AS used FROM running GROUP BY partition_key
), busy AS MATERIALIZED (
    SELECT group_key, count(*) AS load FROM running GROUP BY group_key
), ready AS (
    SELECT w.id, w.rank, w.line, w.group_key, w.limit_key, w.partition_key,
        row_number() OVER (PARTITION BY w.limit_key ORDER BY w.rank, w.line) AS key_place,
        row_number() OVER (PARTITION BY w.partition_key ORDER BY w.rank, w.line) AS partition_place
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.status = 'ENQUEUED'
        AND (w.expires_at IS NULL OR w.expires_at > statement_timestamp())
), allowed AS (
    SELECT ready.*
    FROM ready
    CROSS JOIN (SELECT * FROM durable_queue WHERE name = %(queue)s AND paused_at IS NULL) AS q
    LEFT JOIN key_room USING (limit_key)
    LEFT JOIN partition_used USING (partition_key)
    WHERE (key_room.room IS NULL OR ready.key_place <= key_room.room)
        AND (q.partition_concurrency IS NULL
            OR ready.partition_place <= q.partition_concurrency - coalesce(partition_used.used, 0))
), turned AS (
    SELECT allowed.*, coalesce(busy.load, 0)
        + row_number() OVER (PARTITION BY allowed.rank, allowed.group_key ORDER BY allowed.line) AS turn
    FROM allowed LEFT JOIN busy USING (group_key)
), chosen AS MATERIALIZED (
    SELECT id FROM turned ORDER BY {order} LIMIT %(slots)s
), locked AS MATERIALIZED (
    SELECT w.id FROM durable_workflow_status AS w WHERE w.id IN (SELECT id FROM chosen)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET status = 'PENDING', claim_token = %(token)s, executor_id = %(executor)s,
    claim_seq = nextval('durable_claim_seq'), claims = w.claims + 1,
    started_at = clock_timestamp(), updated_at = clock_timestamp(),
    line = NULL, group_line = NULL, enqueued_xid = NULL, arrival = NULL
FROM locked
WHERE w.id = locked.id AND w.status = 'ENQUEUED'
RETURNING w.id
"""
