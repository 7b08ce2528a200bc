-- Count what the limits of some keys still allow.
--   rides on   durable_limit_pkey, durable_limit_in_flight, durable_rate_window
--   locks      nothing; exact only for keys whose limit row the transaction holds
--   returns    key, room, whether its starts are counted
SELECT l.key, least(l.max_running - running.count, l.max_starts - starts.count) AS room, l.max_starts IS NOT NULL
FROM durable_limit AS l
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_workflow_status AS w
    WHERE l.max_running IS NOT NULL
        AND w.limit_key IS NOT NULL AND w.claim_seq IS NOT NULL AND w.limit_key = l.key
) AS running
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_rate_start AS s
    WHERE l.max_starts IS NOT NULL
        AND s.bucket = E'limit\x1f' || l.key AND s.started_at > statement_timestamp() - l.window
) AS starts
WHERE l.key = ANY(string_to_array(%(keys)s, E'\x1f'))
