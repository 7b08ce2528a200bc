-- Count what a queue has in flight, over the fleet and in this worker.
--   rides on   durable_in_flight, index only, from the oldest run in flight on
--   locks      nothing; exact only if the transaction holds the queue's row
--   returns    in flight, of these run by this executor, the lowest number of those in flight
SELECT count(*), count(*) FILTER (WHERE w.executor_id = %(executor)s), min(w.claim_seq)
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.claim_seq IS NOT NULL AND w.claim_seq >= %(oldest)s
