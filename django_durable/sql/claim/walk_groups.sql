-- Walk the groups of a line by jumping from each to the next; the first step has two forms, of which one gives nothing.
--   rides on   durable_group_line, index only, one seek a group
--   locks      nothing
--   returns    group_key, rank, line of the first row of each group, in group order, and its number; of those that are
--              `shut` none but the last, which says where to go on
WITH RECURSIVE walk AS (
    (
        (
            SELECT w.group_key, w.rank, w.group_line, 1 AS step
            FROM durable_workflow_status AS w
            WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL AND %(after)s::text IS NULL AND {{ready}}
            ORDER BY w.group_key, w.rank, w.group_line
            LIMIT 1
        )
        UNION ALL
        (
            SELECT w.group_key, w.rank, w.group_line, 1
            FROM durable_workflow_status AS w
            WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL AND w.group_key > %(after)s AND {{ready}}
            ORDER BY w.group_key, w.rank, w.group_line
            LIMIT 1
        )
    )
    UNION ALL
    SELECT next.group_key, next.rank, next.group_line, walk.step + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT w.group_key, w.rank, w.group_line
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL AND w.group_key > walk.group_key AND {{ready}}
        ORDER BY w.group_key, w.rank, w.group_line
        LIMIT 1
    ) AS next
    WHERE walk.step < %(groups)s
)
SELECT walk.group_key, walk.rank, walk.group_line, walk.step
FROM walk
WHERE walk.step = %(groups)s
    OR walk.group_key NOT IN (SELECT unnest(string_to_array(%(shut)s, E'\x1f')))
