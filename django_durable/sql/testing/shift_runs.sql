-- Let time pass for all runs, in tests.
--   rides on   nothing: it reads the whole table
--   locks      every row
--   returns    nothing
WITH passed AS MATERIALIZED (
    SELECT make_interval(secs => extract(epoch FROM %(by)s::interval)::float8) AS time
)
UPDATE durable_workflow_status AS w
SET delay_until = w.delay_until - passed.time, wake_at = w.wake_at - passed.time,
    deadline = w.deadline - passed.time, expires_at = w.expires_at - passed.time,
    created_at = w.created_at - passed.time, started_at = w.started_at - passed.time,
    completed_at = w.completed_at - passed.time,
    headers = CASE
        WHEN w.headers ->> 'bounces_until' IS NULL THEN w.headers
        ELSE w.headers || jsonb_build_object(
            'bounces_until', (w.headers ->> 'bounces_until')::timestamptz - passed.time
        )
    END
FROM passed
