-- Hold runs of one status that ended long enough ago, for their deletion. A run that did not succeed may still ask
-- for the results of those that it started: once it goes on, or is tried again.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_settled, durable_workflow_status_pkey
--   locks      FOR UPDATE SKIP LOCKED, the oldest first
--   returns    their ids, and when they had ended
SELECT w.id, w.completed_at
FROM durable_workflow_status AS w
WHERE w.completed_at IS NOT NULL AND w.status = %(status)s
    AND w.completed_at >= coalesce(%(after)s::timestamptz, '-infinity')
    AND w.completed_at < statement_timestamp() - make_interval(secs => extract(epoch FROM %(age)s::interval)::float8)
    AND NOT EXISTS (
        SELECT FROM durable_workflow_status AS starter
        WHERE starter.id = w.parent_id AND starter.status <> 'SUCCESS'
    )
ORDER BY w.completed_at
LIMIT %(batch)s
FOR UPDATE OF w SKIP LOCKED
