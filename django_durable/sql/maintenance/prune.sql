-- Delete runs of one status that ended long enough ago, and everything that hangs on them.
--   rides on   durable_settled, and the primary key or first index of each table
--   locks      FOR UPDATE SKIP LOCKED, the oldest first
--   returns    how many runs, and when the last of them had ended; null if there was none
WITH old AS MATERIALIZED (
    SELECT w.id, w.completed_at
    FROM durable_workflow_status AS w
    WHERE w.completed_at IS NOT NULL AND w.status = %(status)s
        AND w.completed_at >= coalesce(%(after)s::timestamptz, '-infinity')
        AND w.completed_at < statement_timestamp() - %(age)s::interval
    ORDER BY w.completed_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
), steps AS (
    DELETE FROM durable_step_output AS t USING old WHERE t.workflow_id = old.id
), events AS (
    DELETE FROM durable_event AS t USING old WHERE t.workflow_id = old.id
), history AS (
    DELETE FROM durable_event_history AS t USING old WHERE t.workflow_id = old.id
), messages AS (
    DELETE FROM durable_message AS t USING old WHERE t.workflow_id = old.id
), streams AS (
    DELETE FROM durable_stream_entry AS t USING old WHERE t.workflow_id = old.id
), runs AS (
    DELETE FROM durable_workflow_status AS w USING old
    WHERE w.id = old.id AND w.status = %(status)s
    RETURNING old.completed_at
)
SELECT count(*), max(runs.completed_at) FROM runs
