-- Read a queue's limits.
--   rides on   durable_queue_pkey
--   locks      nothing
--   returns    the columns of core.budget.QueueLimits; no row if there is no such queue
SELECT {{queue_limits}}
FROM durable_queue AS q
WHERE q.name = %(queue)s
