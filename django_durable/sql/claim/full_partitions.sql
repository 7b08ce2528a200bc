-- Name the partitions of a queue that have in flight what they may, all at once.
--   rides on   durable_in_flight, index only: all that the queue has in flight, from the oldest on
--   locks      nothing; exact only if the transaction holds the queue's row
--   returns    the partitions, joined, '' for the null partition; null if every one has room
SELECT string_agg(coalesce(full_one.partition_key, ''), E'\x1f')
FROM (
    SELECT w.partition_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.claim_seq IS NOT NULL AND w.claim_seq >= %(oldest)s
    GROUP BY w.partition_key
    HAVING count(*) >= %(of_fleet)s OR count(*) FILTER (WHERE w.executor_id = %(executor)s) >= %(of_worker)s
) AS full_one
