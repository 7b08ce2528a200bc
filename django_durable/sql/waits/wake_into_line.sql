-- Put woken runs of queues where waiting holds no slot back in line, at their old place.
--   rides on   durable_wake_into_line, one seek a queue; durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the ids, and the queues they joined
WITH due AS MATERIALIZED (
    SELECT w.id, w.seq
    FROM durable_queue AS q
    CROSS JOIN LATERAL (
        SELECT s.id, s.seq
        FROM durable_workflow_status AS s
        WHERE s.queue = q.name AND s.status = 'WAITING' AND s.wake_at <= statement_timestamp()
            AND s.claim_seq IS NULL AND s.id <> ALL(%(refused)s::text[])
        ORDER BY s.wake_at
        LIMIT %(batch)s
    ) AS found
    JOIN durable_workflow_status AS w ON w.id = found.id
    WHERE w.status = 'WAITING' AND w.wake_at <= statement_timestamp()
    FOR NO KEY UPDATE OF w SKIP LOCKED
), place AS MATERIALIZED (
    SELECT due.id, coalesce(due.seq, nextval('durable_line_seq')) AS seq FROM due
)
UPDATE durable_workflow_status AS w
SET {{enter_line}}, wake_at = NULL, wait_topic = NULL, expires_at = NULL
FROM place
WHERE w.id = place.id AND w.status = 'WAITING'
RETURNING w.id, w.queue
