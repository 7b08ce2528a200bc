-- Claim runs that woke: they kept their place in the limits while they waited, so only those of this worker count.
--   rides on   durable_wake, durable_owned
--   locks      FOR NO KEY UPDATE SKIP LOCKED on the rows that are due
--   returns    the whole rows
WITH worker AS MATERIALIZED (
    SELECT
        least(
            %(slots)s,
            q.worker_concurrency - (
                SELECT count(*) FROM durable_workflow_status AS own
                WHERE own.executor_id = %(executor)s AND own.queue = q.name
            )
        ) AS room,
        q.partition_worker_concurrency AS partition_room, {{commit_without_waiting}}
    FROM durable_queue AS q
    WHERE q.name = %(queue)s AND q.paused_at IS NULL
), due AS MATERIALIZED (
    SELECT w.id, w.wake_at, w.partition_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.status = 'WAITING' AND w.wake_at <= statement_timestamp()
        AND w.claim_seq IS NOT NULL AND {{own_version}}
    ORDER BY w.wake_at
    LIMIT greatest(coalesce((SELECT worker.room FROM worker), 0), 0)
    FOR NO KEY UPDATE SKIP LOCKED
), fitting AS MATERIALIZED (
    SELECT due.id
    FROM (
        SELECT d.id, d.partition_key, row_number() OVER (PARTITION BY d.partition_key ORDER BY d.wake_at) AS nth
        FROM due AS d
    ) AS due, worker
    WHERE worker.partition_room IS NULL OR due.partition_key IS NULL
        OR due.nth + (
            SELECT count(*) FROM durable_workflow_status AS own
            WHERE own.executor_id = %(executor)s AND own.queue = %(queue)s AND own.partition_key = due.partition_key
        ) <= worker.partition_room
)
UPDATE durable_workflow_status AS w
SET {{start_run}}, wake_at = NULL, wait_topic = NULL, updated_at = clock_timestamp()
FROM fitting
WHERE w.id = fitting.id AND w.status = 'WAITING' AND w.queue = %(queue)s
RETURNING {{claimed_columns}}
