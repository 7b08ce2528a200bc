-- Count the starts of the limit `l` within its window, a length in seconds; none where it counts no starts.
SELECT count(*) AS count
FROM durable_rate_start AS s
WHERE l.max_starts IS NOT NULL
    AND s.bucket = E'limit\x1f' || l.key
    AND s.started_at > statement_timestamp() - make_interval(secs => extract(epoch FROM l.window)::float8)
