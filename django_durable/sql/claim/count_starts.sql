-- Count the starts of some rate buckets within their sliding windows.
--   rides on   durable_rate_window
--   locks      nothing; exact only while the transaction holds the row that owns the bucket
--   returns    bucket, starts
SELECT asked.bucket, starts.count
FROM unnest(%(buckets)s::text[]) AS asked (bucket)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM durable_rate_start AS s
    WHERE s.bucket = asked.bucket AND s.started_at > statement_timestamp() - %(period)s::interval
) AS starts
