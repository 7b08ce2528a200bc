-- Give runs that have not started another time to start.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    the ids changed
WITH {{chosen}}
UPDATE durable_workflow_status AS w
SET status = 'DELAYED',
    delay_until = coalesce(
        %(run_at)s::timestamptz,
        clock_timestamp() + make_interval(secs => extract(epoch FROM %(delay)s::interval)::float8)
    ), {{leave_line}}
FROM chosen
WHERE w.id = chosen.id AND w.status = ANY(%(sources)s::text[])
RETURNING w.id
