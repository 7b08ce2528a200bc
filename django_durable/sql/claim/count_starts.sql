-- Count the starts of some rate buckets within their sliding windows.
-- A window is a length in seconds: days taken off an instant would follow the clocks of the session's time zone.
--   rides on   durable_rate_window
--   locks      nothing; exact only while the transaction holds the row that owns the bucket
--   returns    bucket, starts
SELECT asked.bucket, starts.count
FROM unnest(%(buckets)s::text[]) AS asked (bucket)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_rate_start AS s
    WHERE s.bucket = asked.bucket
        AND s.started_at > statement_timestamp() - make_interval(secs => extract(epoch FROM %(period)s::interval)::float8)
) AS starts
