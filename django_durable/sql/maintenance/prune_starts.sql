-- Delete counted starts that their own rate does not look back at any more, of some buckets that follow one by name.
-- A window is a length in seconds: days taken off an instant would follow the clocks of the session's time zone.
--   rides on   durable_rate_window: a jump from each bucket to the next, and those of each; then durable_rate_start_pkey
--   locks      FOR UPDATE SKIP LOCKED
--   returns    how many were deleted, how many buckets were looked at, the last of them or null
WITH RECURSIVE walk AS (
    (
        SELECT s.bucket, 1 AS step
        FROM durable_rate_start AS s
        WHERE s.bucket > %(after)s
        ORDER BY s.bucket
        LIMIT 1
    )
    UNION ALL
    SELECT next.bucket, walk.step + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT s.bucket FROM durable_rate_start AS s WHERE s.bucket > walk.bucket ORDER BY s.bucket LIMIT 1
    ) AS next
    WHERE walk.step < %(buckets)s
), looked_at AS MATERIALIZED (
    SELECT walk.bucket, statement_timestamp() - make_interval(
        secs => coalesce(extract(epoch FROM CASE of.kind
            WHEN 'limit' THEN l.window WHEN 'queue' THEN q.rate_period ELSE q.partition_rate_period
        END), 0)::float8,
        mins => 1
    ) AS since
    FROM walk
    CROSS JOIN LATERAL (
        SELECT split_part(walk.bucket, E'\x1f', 1) AS kind, split_part(walk.bucket, E'\x1f', 2) AS name
    ) AS of
    LEFT JOIN durable_limit AS l ON of.kind = 'limit' AND l.key = of.name
    LEFT JOIN durable_queue AS q ON of.kind IN ('queue', 'partition') AND q.name = of.name
), outdated AS MATERIALIZED (
    SELECT old.id
    FROM looked_at
    CROSS JOIN LATERAL (
        SELECT s.id
        FROM durable_rate_start AS s
        WHERE s.bucket = looked_at.bucket AND s.started_at < looked_at.since
        LIMIT %(batch)s
        FOR UPDATE SKIP LOCKED
    ) AS old
    LIMIT %(batch)s
), gone AS (
    DELETE FROM durable_rate_start AS s WHERE s.id = ANY(ARRAY(SELECT outdated.id FROM outdated)) RETURNING s.id
)
SELECT (SELECT count(*) FROM gone), count(*), max(looked_at.bucket) FROM looked_at
