-- What a queue allows, in the order of core.budget.QueueLimits.
q.concurrency, q.worker_concurrency, q.rate_limit, q.rate_period, q.partition_concurrency,
    q.partition_worker_concurrency, q.partition_rate_limit, q.partition_rate_period, q.fair,
    q.paused_at IS NOT NULL, EXISTS (SELECT FROM durable_limit)
