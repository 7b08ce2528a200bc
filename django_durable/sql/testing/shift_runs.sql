-- Let time pass for all runs, in tests.
--   rides on   nothing: it reads the whole table
--   locks      every row
--   returns    nothing
UPDATE durable_workflow_status AS w
SET delay_until = w.delay_until - %(by)s::interval, wake_at = w.wake_at - %(by)s::interval,
    deadline = w.deadline - %(by)s::interval, expires_at = w.expires_at - %(by)s::interval,
    created_at = w.created_at - %(by)s::interval, started_at = w.started_at - %(by)s::interval,
    completed_at = w.completed_at - %(by)s::interval,
    headers = CASE
        WHEN w.headers ->> 'bounces_until' IS NULL THEN w.headers
        ELSE w.headers || jsonb_build_object(
            'bounces_until', (w.headers ->> 'bounces_until')::timestamptz - %(by)s::interval
        )
    END
