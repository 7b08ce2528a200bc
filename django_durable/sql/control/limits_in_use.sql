-- Read limits beside what is in use of them: of some keys, or of all.
-- A window is a length in seconds: days taken off an instant would follow the clocks of the session's time zone.
--   rides on   durable_limit_pkey, durable_limit_in_flight, durable_rate_window, and for what waits durable_line,
--              all of it, or the table where most of that stands in line
--   locks      nothing: a look, not a count to start anything by
--   returns    key, max_running, in flight, max_starts, window, starts within it, rows in line
SELECT l.key, l.max_running, running.count, l.max_starts, l.window, starts.count, coalesce(waiting.count, 0)
FROM durable_limit AS l
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_workflow_status AS w
    WHERE w.limit_key IS NOT NULL AND w.claim_seq IS NOT NULL AND w.limit_key = l.key
) AS running
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_rate_start AS s
    WHERE s.bucket = E'limit\x1f' || l.key
        AND s.started_at > statement_timestamp() - make_interval(secs => extract(epoch FROM l.window)::float8)
) AS starts
LEFT JOIN (
    SELECT w.limit_key AS key, count(*) AS count
    FROM durable_workflow_status AS w
    WHERE w.line IS NOT NULL AND w.limit_key IS NOT NULL
    GROUP BY w.limit_key
) AS waiting ON waiting.key = l.key
WHERE %(keys)s::text[] IS NULL OR l.key = ANY(%(keys)s::text[])
ORDER BY l.key
