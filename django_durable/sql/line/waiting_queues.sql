-- Ask for all queues of a process at once which have a row that it may start, and what those queues allow.
--   rides on   durable_line, one seek a queue: a plain EXISTS would be planned as a join with the whole line
--   locks      nothing
--   returns    name, then the columns of core.budget.QueueLimits
SELECT asked.name, {{queue_limits}}
FROM unnest(%(queues)s::text[]) AS asked (name)
JOIN durable_queue AS q ON q.name = asked.name
CROSS JOIN LATERAL (
    SELECT 1
    FROM durable_workflow_status AS w
    WHERE w.queue = asked.name AND w.line IS NOT NULL AND {{ready}}
    ORDER BY w.rank, w.line
    LIMIT 1
) AS first
