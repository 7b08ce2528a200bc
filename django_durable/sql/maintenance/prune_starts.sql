-- Delete counted starts that no rate looks back at any more.
-- A window is a length in seconds: days taken off an instant would follow the clocks of the session's time zone.
--   rides on   durable_rate_start_pkey: ids grow with time, so the first ones are the oldest
--   locks      FOR UPDATE SKIP LOCKED
--   returns    the ids deleted
DELETE FROM durable_rate_start AS gone
WHERE gone.id = ANY(ARRAY(
    SELECT oldest.id
    FROM (
        SELECT s.id, s.started_at FROM durable_rate_start AS s ORDER BY s.id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    ) AS oldest
    WHERE oldest.started_at < statement_timestamp() - (
        SELECT make_interval(secs => coalesce(max(extract(epoch FROM periods.length)), 0)::float8, mins => 1)
        FROM (
            SELECT q.rate_period FROM durable_queue AS q
            UNION ALL SELECT q.partition_rate_period FROM durable_queue AS q
            UNION ALL SELECT l.window FROM durable_limit AS l
        ) AS periods (length)
    )
))
RETURNING gone.id
