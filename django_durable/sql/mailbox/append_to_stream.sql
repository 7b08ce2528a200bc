-- Append a value to a run's stream, or close it; exact because the run's row is held.
--   rides on   durable_stream_entry_pkey
--   locks      the row it inserts
--   returns    the position, from 0; nothing if the stream is closed
INSERT INTO durable_stream_entry (workflow_id, key, position, step, value, serialization, closes, written_at)
SELECT %(workflow)s, %(key)s, coalesce(last.position + 1, 0), %(step)s, %(value)s, %(serialization)s, %(closes)s,
    clock_timestamp()
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (
    SELECT s.position, s.closes
    FROM durable_stream_entry AS s
    WHERE s.workflow_id = %(workflow)s AND s.key = %(key)s
    ORDER BY s.position DESC
    LIMIT 1
) AS last ON true
WHERE last.closes IS NOT TRUE
RETURNING position
