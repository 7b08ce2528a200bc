-- Mark a delayed run as a debounced one: calls may put it off, until its longest wait is over.
--   rides on   durable_workflow_status_pkey
--   locks      the row
--   returns    nothing
UPDATE durable_workflow_status AS w
SET headers = w.headers || jsonb_strip_nulls(jsonb_build_object(
        'bounces', true, 'bounces_until', clock_timestamp() + %(max_wait)s::interval
    )),
    delay_until = least(w.delay_until, clock_timestamp() + %(max_wait)s::interval)
WHERE w.id = %(id)s AND w.status = 'DELAYED'
