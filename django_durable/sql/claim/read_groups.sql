-- Read the next rows of some groups, each from its own place.
--   rides on   durable_group_line, index only, one seek a group
--   locks      nothing
--   returns    group_key, then id, rank, line, partition_key, limit_key; in line order within each group
SELECT seek.group_key, found.id, found.rank, found.group_line, found.partition_key, found.limit_key
FROM unnest(%(groups)s::text[], %(ranks)s::int[], %(lines)s::bigint[], %(limits)s::int[])
    AS seek (group_key, rank, line, size)
CROSS JOIN LATERAL (
    SELECT w.id, w.rank, w.group_line, w.partition_key, w.limit_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL AND w.group_key = seek.group_key
        AND (w.rank, w.group_line) > (seek.rank, seek.line)
        AND (%(keys)s = '' OR w.limit_key IS NULL
            OR w.limit_key NOT IN (SELECT unnest(string_to_array(%(keys)s, E'\x1f'))))
        AND {{ready}}
    ORDER BY w.rank, w.group_line
    LIMIT seek.size
) AS found
