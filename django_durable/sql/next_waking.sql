-- Learn in how many seconds the next run wakes that goes back in line.
--   rides on   durable_wake, one seek a queue
--   locks      nothing
--   returns    one number, or null
SELECT extract(epoch FROM min(first.wake_at) - statement_timestamp())::float8
FROM durable_queue AS q
CROSS JOIN LATERAL (
    SELECT w.wake_at
    FROM durable_workflow_status AS w
    WHERE w.queue = q.name AND w.status = 'WAITING' AND w.wake_at IS NOT NULL AND w.claim_seq IS NULL
    ORDER BY w.wake_at
    LIMIT 1
) AS first
