-- Cancel runs that were not started by the time they had to be.
--   rides on   durable_expiry
--   locks      FOR NO KEY UPDATE SKIP LOCKED, the oldest first
--   returns    the ids cancelled
WITH late AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.expires_at IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED')
        AND w.expires_at <= statement_timestamp() AND w.id <> ALL(%(refused)s::text[])
    ORDER BY w.expires_at
    LIMIT %(batch)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{cancelled}}, {{leave_line}}
FROM late
WHERE w.id = late.id AND w.status IN ('DELAYED', 'ENQUEUED')
RETURNING w.id
