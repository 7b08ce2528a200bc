-- Learn in how many seconds the first waiting run of each queue wakes; if that is due, the next one that is not too.
-- The first due may be of a partition that the worker is full of: those behind it are claimed when they wake.
--   rides on   durable_wake, one seek a queue, and a second where the first is due
--   locks      nothing
--   returns    queue, seconds, seconds of the next to come or null; queues where nobody wakes by time are left out
SELECT asked.name, extract(epoch FROM first.wake_at - statement_timestamp())::float8,
    extract(epoch FROM later.wake_at - statement_timestamp())::float8
FROM unnest(%(queues)s::text[]) AS asked (name)
JOIN durable_queue AS q ON q.name = asked.name AND q.paused_at IS NULL
CROSS JOIN LATERAL (
    SELECT w.wake_at
    FROM durable_workflow_status AS w
    WHERE w.queue = asked.name AND w.status = 'WAITING' AND w.wake_at IS NOT NULL
        AND w.claim_seq IS NOT NULL AND {{own_version}}
    ORDER BY w.wake_at
    LIMIT 1
) AS first
LEFT JOIN LATERAL (
    SELECT w.wake_at
    FROM durable_workflow_status AS w
    WHERE first.wake_at <= statement_timestamp()
        AND w.queue = asked.name AND w.status = 'WAITING' AND w.wake_at > statement_timestamp()
        AND w.claim_seq IS NOT NULL AND {{own_version}}
    ORDER BY w.wake_at
    LIMIT 1
) AS later ON true
