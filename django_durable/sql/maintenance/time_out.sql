-- Cancel runs whose deadline passed.
--   rides on   durable_deadline
--   locks      FOR NO KEY UPDATE SKIP LOCKED, the oldest first
--   returns    the ids cancelled
WITH late AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.deadline IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED', 'PENDING', 'WAITING')
        AND w.deadline <= statement_timestamp() AND w.id <> ALL(%(refused)s::text[])
    ORDER BY w.deadline
    LIMIT %(batch)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{cancelled}}, {{give_up_claim}}, {{leave_line}}
FROM late
WHERE w.id = late.id AND w.status IN ('DELAYED', 'ENQUEUED', 'PENDING', 'WAITING')
RETURNING w.id
