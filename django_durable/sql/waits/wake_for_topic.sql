-- Wake the runs that wait for an event that was set in this transaction.
--   rides on   durable_waiters, durable_waiters_for_several
--   locks      FOR NO KEY UPDATE in id order
--   returns    the ids woken
WITH waiters AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.status = 'WAITING' AND w.wait_topic = %(topic)s
    UNION ALL
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.status = 'WAITING' AND w.wait_topic = 'any' AND w.wait_topics && ARRAY[%(topic)s::text]
), held AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id IN (SELECT waiters.id FROM waiters)
    ORDER BY w.id
    FOR NO KEY UPDATE
)
UPDATE durable_workflow_status AS w
SET wake_at = clock_timestamp(), updated_at = clock_timestamp()
FROM held
WHERE w.id = held.id AND w.status = 'WAITING'
RETURNING w.id
