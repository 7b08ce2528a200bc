-- Walk every rank of a line whose groups mean nothing: the full pass of a plain queue.
--   rides on   durable_line, one seek a rank
--   locks      nothing
--   returns    rank, line of the first row of each
WITH RECURSIVE walk AS (
    (
        SELECT w.rank, w.line
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.line IS NOT NULL
        ORDER BY w.rank, w.line
        LIMIT 1
    )
    UNION ALL
    SELECT next.rank, next.line
    FROM walk
    CROSS JOIN LATERAL (
        SELECT w.rank, w.line
        FROM durable_workflow_status AS w
        WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND w.rank > walk.rank
        ORDER BY w.rank, w.line
        LIMIT 1
    ) AS next
)
SELECT walk.rank, walk.line FROM walk
