-- Read the next rows of a line, all of them.
--   rides on   durable_line, index only
--   locks      nothing
--   returns    id, rank, line, partition_key, limit_key in line order
SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
    AND {{ready}}
ORDER BY w.rank, w.line
LIMIT %(size)s
