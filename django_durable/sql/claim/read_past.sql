-- Read the next rows of a line past limit keys, partitions and groups that cannot be claimed from.
-- However many those are, it looks at `stretch` rows at most: reading a line to its end must not be the only way on.
--   rides on   durable_line, index only; once for the rows, once for the place where the stretch ends
--   locks      nothing
--   returns    id, rank, line, partition_key, limit_key in line order; then, with id null, the last place of the
--              stretch: no such row says that the line is shorter
WITH seen AS (
    SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key, w.expires_at, w.app_version
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
    ORDER BY w.rank, w.line
    LIMIT %(stretch)s
)
(
    SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key
    FROM (TABLE seen) AS w
    WHERE (w.limit_key IS NULL OR w.limit_key NOT IN (SELECT unnest(%(keys)s::text[])))
        AND coalesce(w.partition_key, '') NOT IN (SELECT unnest(%(partitions)s::text[]))
        AND (w.partition_key IS NOT NULL OR coalesce(w.limit_key, '') NOT IN (SELECT unnest(%(key_groups)s::text[])))
        AND {{ready}}
    LIMIT %(size)s
)
UNION ALL
(
    SELECT NULL, w.rank, w.line, NULL, NULL
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
    ORDER BY w.rank, w.line
    OFFSET %(stretch)s - 1
    LIMIT 1
)
