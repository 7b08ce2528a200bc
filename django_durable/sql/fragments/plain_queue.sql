-- A queue in which nothing of its own holds back or reorders the line.
q.name = %(queue)s AND q.paused_at IS NULL AND NOT q.fair
    AND num_nonnulls(
        q.concurrency, q.worker_concurrency, q.rate_limit, q.partition_concurrency,
        q.partition_worker_concurrency, q.partition_rate_limit
    ) = 0
