-- Mark a delayed run as a debounced one: calls may put it off, until its longest wait is over.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_workflow_status_pkey
--   locks      the row
--   returns    nothing
UPDATE durable_workflow_status AS w
SET headers = w.headers || jsonb_strip_nulls(jsonb_build_object(
        'bounces', true,
        'bounces_until', clock_timestamp() + make_interval(secs => extract(epoch FROM %(max_wait)s::interval)::float8)
    )),
    delay_until = least(
        w.delay_until, clock_timestamp() + make_interval(secs => extract(epoch FROM %(max_wait)s::interval)::float8)
    )
WHERE w.id = %(id)s AND w.status = 'DELAYED'
