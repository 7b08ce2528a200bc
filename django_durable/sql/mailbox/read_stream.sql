-- Read a stream on from a position, together with whether its writer may still go on.
--   rides on   durable_stream_entry_pkey, durable_workflow_status_pkey
--   locks      nothing
--   returns    whether the writer is active, then position, value, serialization, closes (null: nothing new); no row: no such run
SELECT w.completed_at IS NULL, s.position, s.value, s.serialization, s.closes
FROM durable_workflow_status AS w
LEFT JOIN LATERAL (
    SELECT e.position, e.value, e.serialization, e.closes
    FROM durable_stream_entry AS e
    WHERE e.workflow_id = w.id AND e.key = %(key)s AND e.position >= %(position)s
    ORDER BY e.position
    LIMIT %(batch)s
) AS s ON true
WHERE w.id = %(workflow)s
ORDER BY s.position
