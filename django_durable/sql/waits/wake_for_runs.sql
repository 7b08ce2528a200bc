-- Wake the runs that wait for others, which were settled in this transaction.
--   rides on   durable_waiters, durable_waiters_for_several, durable_workflow_status_pkey; for those looked up by id
--              status and end are put so that no other index can serve them
--   locks      FOR NO KEY UPDATE in id order
--   returns    the ids woken
WITH settled AS MATERIALIZED (
    SELECT w.id, w.parent_id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[]) AND w.awaited AND num_nonnulls(w.completed_at) = 1
), waiters AS MATERIALIZED (
    SELECT p.id
    FROM durable_workflow_status AS p
    WHERE p.status = 'WAITING' AND p.wait_topic IN (SELECT 'run ' || settled.id FROM settled)
    UNION
    SELECT p.id
    FROM durable_workflow_status AS p
    WHERE p.status = 'WAITING' AND p.wait_topic = 'any'
        AND p.wait_topics && ARRAY(SELECT 'run ' || settled.id FROM settled)
    UNION
    SELECT p.id
    FROM durable_workflow_status AS p
    WHERE p.id IN (SELECT settled.parent_id FROM settled)
        AND p.status || '' = 'WAITING' AND p.wait_topic IN ('children', 'any')
), {{wake_waiters}}
