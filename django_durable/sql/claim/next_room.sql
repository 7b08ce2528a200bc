-- Learn in how many seconds the first of some rates that are used up lets a start through again.
-- The last of as many starts as a rate allows, counted back from now, has to leave its window for that.
-- A window that was full when the claim began, so many seconds ago, and has opened since: 0 or less.
--   rides on   durable_limit_pkey, durable_rate_window, backwards, over as many starts as each rate allows
--   locks      nothing
--   returns    seconds; null: none of them was used up
WITH asked AS MATERIALIZED (
    SELECT own.bucket, own.starts, own.seconds
    FROM unnest(%(buckets)s::text[], %(starts)s::int[], %(seconds)s::float8[]) AS own (bucket, starts, seconds)
    UNION ALL
    SELECT E'limit\x1f' || l.key, l.max_starts, extract(epoch FROM l.window)::float8
    FROM unnest(string_to_array(%(keys)s, E'\x1f')) AS met (key)
    JOIN durable_limit AS l ON l.key = met.key
    WHERE l.max_starts IS NOT NULL
)
SELECT min(asked.seconds - extract(epoch FROM statement_timestamp() - last.started_at)::float8)
FROM asked
CROSS JOIN LATERAL (
    SELECT s.started_at
    FROM durable_rate_start AS s
    WHERE s.bucket = asked.bucket AND s.started_at > statement_timestamp() - make_interval(secs => asked.seconds + %(ago)s)
    ORDER BY s.started_at DESC
    OFFSET asked.starts - 1
    LIMIT 1
) AS last
