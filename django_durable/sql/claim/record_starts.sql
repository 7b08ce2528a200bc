-- Count starts of rates.
--   rides on   nothing
--   locks      the new rows
--   returns    nothing
INSERT INTO durable_rate_start (bucket, started_at)
SELECT started.bucket, clock_timestamp() FROM unnest(%(buckets)s::text[]) AS started (bucket)
