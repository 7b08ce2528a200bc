-- Count what a queue has in flight, over the fleet and in this worker.
--   rides on   durable_in_flight, index only
--   locks      nothing; exact only if the transaction holds the queue's row
--   returns    in flight, of these run by this executor
SELECT count(*), count(*) FILTER (WHERE w.executor_id = %(executor)s)
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.claim_seq IS NOT NULL
