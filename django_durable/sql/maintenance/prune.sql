-- Delete runs of one status that ended long enough ago, and everything that hangs on them.
--   rides on   durable_settled, and the primary key or first index of each table
--   locks      FOR UPDATE SKIP LOCKED, the oldest first
--   returns    how many runs, and when the last of them had ended; null if there was none
WITH chosen AS MATERIALIZED (
    SELECT w.id, w.completed_at
    FROM durable_workflow_status AS w
    WHERE w.completed_at IS NOT NULL AND w.status = %(status)s
        AND w.completed_at >= coalesce(%(after)s::timestamptz, '-infinity')
        AND w.completed_at < statement_timestamp() - %(age)s::interval
    ORDER BY w.completed_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
), {{delete_what_hangs}}, runs AS (
    DELETE FROM durable_workflow_status AS w USING chosen
    WHERE w.id = chosen.id AND w.status = %(status)s
    RETURNING chosen.completed_at
)
SELECT count(*), max(runs.completed_at) FROM runs
