-- Find the runs that were started by others and have not ended.
--   rides on   durable_children
--   locks      nothing
--   returns    their ids
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.parent_id = ANY(%(ids)s::text[]) AND w.completed_at IS NULL
