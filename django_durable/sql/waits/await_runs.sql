-- Say that somebody waits for the outcome of runs, so that whoever settles them looks for the waiters.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order: an outcome being written is there, or will see the mark
--   returns    nothing
WITH awaited AS MATERIALIZED (
    SELECT w.id, w.awaited, w.completed_at
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(runs)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
)
UPDATE durable_workflow_status AS w
SET awaited = true
FROM awaited
WHERE w.id = awaited.id AND NOT awaited.awaited AND awaited.completed_at IS NULL
