-- Walk every group and rank of a line: the full pass.
--   rides on   durable_group_line, one seek a group and rank
--   locks      nothing
--   returns    group_key, rank, line of the first row of each, in index order
WITH RECURSIVE walk AS (
    (
        SELECT w.group_key, w.rank, w.group_line, 1 AS step
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL
        ORDER BY w.group_key, w.rank, w.group_line
        LIMIT 1
    )
    UNION ALL
    SELECT next.group_key, next.rank, next.group_line, walk.step + 1
    FROM walk
    CROSS JOIN LATERAL (
        SELECT w.group_key, w.rank, w.group_line
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.group_line IS NOT NULL
            AND (w.group_key, w.rank) > (walk.group_key, walk.rank)
        ORDER BY w.group_key, w.rank, w.group_line
        LIMIT 1
    ) AS next
    WHERE walk.step < %(most)s
)
SELECT walk.group_key, walk.rank, walk.group_line FROM walk
