-- Count what some partitions of a queue have in flight, over the fleet and in this worker.
--   rides on   durable_in_flight, index only: all that the queue has in flight, from the oldest on
--   locks      nothing; exact only if the transaction holds the queue's row
--   returns    partition_key, in flight, of these run by this executor; '' in the question is the null partition
SELECT w.partition_key, count(*), count(*) FILTER (WHERE w.executor_id = %(executor)s)
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.claim_seq IS NOT NULL AND w.claim_seq >= %(oldest)s
    AND coalesce(w.partition_key, '') IN (SELECT unnest(%(partitions)s::text[]))
GROUP BY w.partition_key
