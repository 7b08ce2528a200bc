-- Take back the starts of runs that are about to be put back unbegun, each guarded by its token.
-- A start was written by the claim of its run, whose transaction is the last that wrote the row; of several of one
-- claim it does not matter which goes. A run with a history is left alone: one that woke has counted no start.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey, durable_rate_window
--   locks      FOR NO KEY UPDATE SKIP LOCKED in id order, then the starts
--   returns    the ids of the starts that are gone
WITH held AS MATERIALIZED (
    SELECT w.id, w.claim_token, w.xmin AS claim, w.started_at, w.queue, w.partition_key, w.limit_key
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE SKIP LOCKED
), counted AS MATERIALIZED (
    SELECT bucket.name, held.claim, min(held.started_at) AS since, count(*) AS starts
    FROM held
    JOIN unnest(%(ids)s::text[], %(tokens)s::uuid[]) AS given (id, token)
        ON given.id = held.id AND given.token = held.claim_token
    CROSS JOIN LATERAL unnest(ARRAY[
        concat_ws(E'\x1f', 'queue', held.queue),
        concat_ws(E'\x1f', 'partition', held.queue, coalesce(held.partition_key, '')),
        E'limit\x1f' || held.limit_key
    ]) AS bucket (name)
    WHERE NOT EXISTS (SELECT FROM durable_step_output AS s WHERE s.workflow_id = held.id)
    GROUP BY bucket.name, held.claim
)
DELETE FROM durable_rate_start AS gone
WHERE gone.ctid = ANY(ARRAY(
    SELECT first.ctid
    FROM counted
    CROSS JOIN LATERAL (
        SELECT s.ctid
        FROM durable_rate_start AS s
        WHERE s.bucket = counted.name AND s.started_at >= counted.since AND s.xmin = counted.claim
        ORDER BY s.started_at
        LIMIT counted.starts
    ) AS first
))
RETURNING gone.id
