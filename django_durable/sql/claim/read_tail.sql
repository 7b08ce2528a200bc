-- Read what became visible in line since a snapshot: for all queues at once, the first row of each group and rank.
--   rides on   durable_tail, in its order, so that a table without statistics is not scanned instead
--   locks      nothing
--   returns    the columns of `snapshot`, then queue, group_key, rank, line, rows; one row of nulls if none arrived
SELECT {{moment}}, arrived.queue, arrived.group_key, arrived.rank, arrived.line, arrived.rows
FROM (SELECT 1) AS always
LEFT JOIN (
    SELECT new.queue, new.group_key, new.rank, min(new.line) AS line, count(*) AS rows
    FROM (
        (
            SELECT w.queue, w.group_key, w.rank, w.line
            FROM durable_workflow_status AS w
            WHERE w.enqueued_xid IS NOT NULL AND w.enqueued_xid >= %(xmax)s::xid8
            ORDER BY w.enqueued_xid
            LIMIT %(most)s
        )
        UNION ALL
        SELECT w.queue, w.group_key, w.rank, w.line
        FROM durable_workflow_status AS w
        WHERE w.enqueued_xid IS NOT NULL AND w.enqueued_xid = ANY(%(running)s::xid8[])
    ) AS new
    GROUP BY new.queue, new.group_key, new.rank
) AS arrived ON true
