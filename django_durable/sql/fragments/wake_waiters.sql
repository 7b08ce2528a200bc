-- Wake the runs in `waiters` that still wait, in id order; the status is put so that the primary key alone can serve.
held AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id IN (SELECT waiters.id FROM waiters)
    ORDER BY w.id
    FOR NO KEY UPDATE
)
UPDATE durable_workflow_status AS w
SET wake_at = clock_timestamp(), updated_at = clock_timestamp()
FROM held
WHERE w.id = held.id AND w.status || '' = 'WAITING'
RETURNING w.id
