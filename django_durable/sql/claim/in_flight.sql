-- Count what a queue has in flight, by partition and group, over the fleet and in this worker.
--   rides on   durable_in_flight
--   locks      nothing; exact only if the transaction holds the queue's row
--   returns    partition_key, group_key, in flight, of these run by this executor
SELECT w.partition_key, w.group_key, count(*), count(*) FILTER (WHERE w.executor_id = %(executor)s)
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.claim_seq IS NOT NULL
GROUP BY w.partition_key, w.group_key
