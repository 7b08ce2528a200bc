-- Claim runs that woke: they kept their place in the limits while they waited, so only those of this worker count.
-- Where each partition has its own, more runs are looked at than are taken, and locked once they were chosen: the
-- first due may all be of partitions that this worker is full of. It looks no further than at the first 10 000.
--   rides on   durable_wake; durable_owned where a limit of the worker counts
--   locks      FOR NO KEY UPDATE SKIP LOCKED on the rows that are due and fit
--   returns    the whole rows
WITH allowed AS MATERIALIZED (
    SELECT q.worker_concurrency AS most, q.partition_worker_concurrency AS of_partition,
        {{commit_without_waiting}}, {{end_if_frozen}}
    FROM durable_queue AS q
    WHERE q.name = %(queue)s AND q.paused_at IS NULL
), own AS MATERIALIZED (
    SELECT coalesce(w.partition_key, '') AS partition, count(*) AS running
    FROM durable_workflow_status AS w
    WHERE w.executor_id = %(executor)s AND w.queue = %(queue)s
        AND EXISTS (SELECT FROM allowed WHERE num_nonnulls(allowed.most, allowed.of_partition) > 0)
    GROUP BY coalesce(w.partition_key, '')
), worker AS MATERIALIZED (
    SELECT greatest(least(%(slots)s, allowed.most - own.running), 0) AS room, allowed.of_partition
    FROM allowed, (SELECT coalesce(sum(own.running), 0)::bigint AS running FROM own) AS own
), due AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.status = 'WAITING' AND w.wake_at <= statement_timestamp()
        AND w.claim_seq IS NOT NULL AND {{own_version}}
    ORDER BY w.wake_at
    LIMIT coalesce((SELECT worker.room FROM worker WHERE worker.of_partition IS NULL), 0)
    FOR NO KEY UPDATE SKIP LOCKED
), looked_at AS MATERIALIZED (
    SELECT first.id, first.wake_at, first.partition
    FROM (
        SELECT w.id, w.wake_at, coalesce(w.partition_key, '') AS partition
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.status = 'WAITING' AND w.wake_at <= statement_timestamp()
            AND w.claim_seq IS NOT NULL AND {{own_version}}
        ORDER BY w.wake_at
        LIMIT coalesce((SELECT 10000 FROM worker WHERE worker.of_partition IS NOT NULL AND worker.room > 0), 0)
    ) AS first
    WHERE first.partition <> ALL(ARRAY(SELECT own.partition FROM own, worker WHERE own.running >= worker.of_partition))
), fitting AS MATERIALIZED (
    SELECT ranked.id
    FROM (
        SELECT looked_at.id, looked_at.wake_at, coalesce(own.running, 0)
            + row_number() OVER (PARTITION BY looked_at.partition ORDER BY looked_at.wake_at, looked_at.id) AS nth
        FROM looked_at
        LEFT JOIN own ON own.partition = looked_at.partition
    ) AS ranked, worker
    WHERE ranked.nth <= worker.of_partition
    ORDER BY ranked.wake_at
    LIMIT coalesce((SELECT worker.room FROM worker), 0)
), held AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(ARRAY(SELECT fitting.id FROM fitting))
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{start_run}}, wake_at = NULL, wait_topic = NULL, updated_at = clock_timestamp()
WHERE w.id = ANY(ARRAY(SELECT due.id FROM due UNION ALL SELECT held.id FROM held))
    AND w.status = 'WAITING' AND w.wake_at <= statement_timestamp() AND w.queue = %(queue)s
RETURNING {{claimed_columns}}
