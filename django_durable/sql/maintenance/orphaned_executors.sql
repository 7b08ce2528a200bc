-- Find the owners of running rows that are not registered any more.
--   rides on   durable_owned, one seek an owner
--   locks      nothing
--   returns    executor ids
WITH RECURSIVE owner AS (
    (SELECT w.executor_id FROM durable_workflow_status AS w
     WHERE w.executor_id IS NOT NULL ORDER BY w.executor_id LIMIT 1)
    UNION ALL
    SELECT (SELECT w.executor_id FROM durable_workflow_status AS w
            WHERE w.executor_id > owner.executor_id ORDER BY w.executor_id LIMIT 1)
    FROM owner WHERE owner.executor_id IS NOT NULL
)
SELECT owner.executor_id
FROM owner
WHERE owner.executor_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM durable_executor AS e WHERE e.id = owner.executor_id)
