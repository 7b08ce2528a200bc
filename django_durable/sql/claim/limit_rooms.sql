-- Count what the limits of some keys still allow.
-- A window is a length in seconds: days taken off an instant would follow the clocks of the session's time zone.
--   rides on   durable_limit_pkey, durable_limit_in_flight from the oldest run in flight on, durable_rate_window
--   locks      nothing; exact only for keys whose limit row the transaction holds
--   returns    key, room, whether its starts are counted, whether its runs are, the lowest number of those in flight
SELECT
    l.key, least(l.max_running - running.count, l.max_starts - starts.count) AS room, l.max_starts IS NOT NULL,
    l.max_running IS NOT NULL, running.first
FROM unnest(string_to_array(%(keys)s, E'\x1f'), string_to_array(%(oldest)s, E'\x1f')::bigint[]) AS asked (key, oldest)
JOIN durable_limit AS l ON l.key = asked.key
CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(w.claim_seq) AS first
    FROM durable_workflow_status AS w
    WHERE l.max_running IS NOT NULL AND w.limit_key IS NOT NULL AND w.claim_seq IS NOT NULL
        AND w.limit_key = l.key AND w.claim_seq >= asked.oldest
) AS running
CROSS JOIN LATERAL (
    {{starts_in_window}}
) AS starts
