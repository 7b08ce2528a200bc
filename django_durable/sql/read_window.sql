-- Read the next rows of a line, leaving out limit keys, partitions and groups that cannot be claimed from.
--   rides on   durable_line, index only
--   locks      nothing
--   returns    id, rank, line, partition_key, limit_key in line order
SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key
FROM durable_workflow_status AS w
WHERE w.queue = %(queue)s AND w.line IS NOT NULL
    AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
    AND (w.limit_key IS NULL OR w.limit_key NOT IN (SELECT unnest(%(keys)s::text[])))
    AND coalesce(w.partition_key, '') NOT IN (SELECT unnest(%(partitions)s::text[]))
    AND (w.partition_key IS NOT NULL OR coalesce(w.limit_key, '') NOT IN (SELECT unnest(%(key_groups)s::text[])))
    AND {{ready}}
ORDER BY w.rank, w.line
LIMIT %(size)s
