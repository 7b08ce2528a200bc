-- Read the next rows of a line past limit keys, partitions and groups that cannot be claimed from.
-- However many those are, it looks at `stretch` rows at most: reading a line to its end must not be the only way on.
--   rides on   durable_line, index only; for the rows, and once more for the place where a stretch in vain ends
--   locks      nothing
--   returns    id, rank, line, partition_key, limit_key in line order; then, where fewer than `size` were found, with
--              id null the last place of the stretch: no such row says that the line is shorter
WITH found AS MATERIALIZED (
    SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key
    FROM (
        SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key, w.expires_at, w.app_version
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
        ORDER BY w.rank, w.line
        LIMIT %(stretch)s
    ) AS w
    WHERE (%(keys)s = '' OR w.limit_key IS NULL
            OR w.limit_key NOT IN (SELECT unnest(string_to_array(%(keys)s, E'\x1f'))))
        AND (%(partitions)s::text[] = '{}'
            OR coalesce(w.partition_key, '') NOT IN (SELECT unnest(%(partitions)s::text[])))
        AND (%(key_groups)s::text[] = '{}' OR w.partition_key IS NOT NULL
            OR coalesce(w.limit_key, '') NOT IN (SELECT unnest(%(key_groups)s::text[])))
        AND {{ready}}
    LIMIT %(size)s
)
SELECT found.id, found.rank, found.line, found.partition_key, found.limit_key FROM found
UNION ALL
(
    SELECT NULL, w.rank, w.line, NULL, NULL
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND (w.rank, w.line) > (%(rank)s::int, %(line)s::bigint)
        AND (SELECT count(*) FROM found) < %(size)s
    ORDER BY w.rank, w.line
    OFFSET %(stretch)s - 1
    LIMIT 1
)
