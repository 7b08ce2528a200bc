-- Put a debounced run off that has not started, and give it new arguments.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_deduplication
--   locks      the row
--   returns    its id; nothing if no debounced run of this function holds the key
UPDATE durable_workflow_status AS w
SET delay_until = least(
        clock_timestamp() + make_interval(secs => extract(epoch FROM %(period)s::interval)::float8),
        coalesce((w.headers ->> 'bounces_until')::timestamptz, 'infinity')
    ),
    input = %(input)s, serialization = %(serialization)s, updated_at = clock_timestamp()
WHERE w.queue = %(queue)s AND w.deduplication_id = ANY(%(deduplication_ids)s::text[]) AND w.status = 'DELAYED'
    AND w.name = %(name)s AND w.headers @> '{"bounces": true}'
RETURNING w.id
