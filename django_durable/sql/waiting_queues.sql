-- Ask for all queues of a process at once which have a row that it may start.
--   rides on   durable_line, one seek a queue
--   locks      nothing
--   returns    names of queues
SELECT asked.name
FROM unnest(%(queues)s::text[]) AS asked (name)
WHERE EXISTS (
    SELECT FROM durable_workflow_status AS w
    WHERE w.queue = asked.name AND w.line IS NOT NULL AND {{ready}}
)
