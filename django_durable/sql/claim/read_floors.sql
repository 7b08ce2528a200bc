-- Read the next rows behind the floors of some groups and ranks.
--   rides on   durable_group_line, one seek a floor
--   locks      nothing
--   returns    position of the floor asked, then id, rank, line, partition_key, limit_key; in line order within each
SELECT seek.position, found.id, found.rank, found.group_line, found.partition_key, found.limit_key
FROM unnest(%(groups)s::text[], %(ranks)s::int[], %(lines)s::bigint[], %(limits)s::int[]) WITH ORDINALITY
    AS seek (group_key, rank, line, size, position)
CROSS JOIN LATERAL (
    SELECT w.id, w.rank, w.group_line, w.partition_key, w.limit_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL AND w.group_key = seek.group_key
        AND w.rank = seek.rank AND w.group_line > seek.line
        AND (w.limit_key IS NULL OR w.limit_key NOT IN (SELECT unnest(%(keys)s::text[])))
        AND {{ready}}
    ORDER BY w.rank, w.group_line
    LIMIT seek.size
) AS found
