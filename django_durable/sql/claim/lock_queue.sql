-- Hold the queue's budget for this claim, or learn that a peer is at work.
--   rides on   durable_queue_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the columns of core.budget.QueueLimits; no row: a peer holds it, or there is no such queue
WITH bounded AS MATERIALIZED (SELECT {{end_if_frozen}})
SELECT {{queue_limits}}
FROM durable_queue AS q
WHERE q.name = %(queue)s AND EXISTS (SELECT FROM bounded)
FOR NO KEY UPDATE SKIP LOCKED
