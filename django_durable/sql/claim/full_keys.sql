-- Name the limited keys that have no room, all at once: cheaper than to meet them one by one.
-- It looks at the first `most` limits there are; of each it counts no further than to its bound.
--   rides on   durable_limit_pkey, durable_limit_in_flight from the oldest run in flight on, durable_rate_window
--   locks      nothing: they may have room by now, and wait for the next claim
--   returns    the keys, and for each the lowest number of those in flight, joined; nulls if every key has room
SELECT string_agg(full_key.key, E'\x1f'), string_agg(full_key.first, E'\x1f')
FROM (
    SELECT l.key, coalesce(running.first::text, '') AS first
    FROM (
        SELECT l.key, l.max_running, l.max_starts, l.window, coalesce(known.oldest, 0) AS oldest
        FROM (SELECT * FROM durable_limit AS l ORDER BY l.key LIMIT %(most)s) AS l
        LEFT JOIN unnest(string_to_array(%(keys)s, E'\x1f'), string_to_array(%(oldest)s, E'\x1f')::bigint[])
            AS known (key, oldest) ON known.key = l.key
    ) AS l
    CROSS JOIN LATERAL (
        SELECT count(*) AS count, min(first.claim_seq) AS first
        FROM (
            SELECT w.claim_seq
            FROM durable_workflow_status AS w
            WHERE w.limit_key IS NOT NULL AND w.claim_seq IS NOT NULL
                AND w.limit_key = l.key AND w.claim_seq >= l.oldest
            ORDER BY w.claim_seq
            LIMIT l.max_running
        ) AS first
        WHERE l.max_running IS NOT NULL
    ) AS running
    CROSS JOIN LATERAL (
        {{starts_in_window}}
    ) AS starts
    WHERE running.count >= l.max_running OR starts.count >= l.max_starts
) AS full_key
