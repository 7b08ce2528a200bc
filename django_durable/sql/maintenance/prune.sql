-- Delete runs of one status that ended long enough ago, and everything that hangs on them.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_settled, then durable_workflow_status_pkey, durable_step_output_pkey, durable_mailbox,
--              durable_event_pkey, durable_event_history_pkey, durable_stream_entry_pkey
--   locks      FOR UPDATE SKIP LOCKED, the oldest first
--   returns    how many runs, and when the last of them had ended; null if there was none
WITH chosen AS MATERIALIZED (
    SELECT w.id, w.completed_at
    FROM durable_workflow_status AS w
    WHERE w.completed_at IS NOT NULL AND w.status = %(status)s
        AND w.completed_at >= coalesce(%(after)s::timestamptz, '-infinity')
        AND w.completed_at < statement_timestamp() - make_interval(secs => extract(epoch FROM %(age)s::interval)::float8)
    ORDER BY w.completed_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
), {{delete_what_hangs}}, runs AS (
    DELETE FROM durable_workflow_status AS w USING chosen
    WHERE w.id = chosen.id AND w.status = %(status)s
    RETURNING chosen.completed_at
)
SELECT count(*), max(runs.completed_at) FROM runs
