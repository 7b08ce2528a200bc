-- Read the next rows of a line behind the floors of its ranks.
--   rides on   durable_line, index only, one seek a rank
--   locks      nothing
--   returns    position of the floor asked, then id, rank, line, partition_key, limit_key; in line order
SELECT seek.position, found.id, found.rank, found.line, found.partition_key, found.limit_key
FROM unnest(%(ranks)s::int[], %(lines)s::bigint[], %(limits)s::int[]) WITH ORDINALITY
    AS seek (rank, line, size, position)
CROSS JOIN LATERAL (
    SELECT w.id, w.rank, w.line, w.partition_key, w.limit_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND w.rank = seek.rank AND w.line > seek.line
        AND (w.limit_key IS NULL OR w.limit_key NOT IN (SELECT unnest(%(keys)s::text[])))
        AND {{ready}}
    ORDER BY w.rank, w.line
    LIMIT seek.size
) AS found
