-- Wake the runs that wait for an event that was set in this transaction.
--   rides on   durable_waiters, durable_waiters_for_several, durable_workflow_status_pkey
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
), {{wake_waiters}}
