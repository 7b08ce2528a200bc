-- Find the runs that have not ended among those that others started, however deep, also below one that has ended.
-- Each is looked up by its parent: the lateral subquery keeps the planner from reading the table instead.
--   rides on   durable_children
--   locks      nothing
--   returns    their ids
WITH RECURSIVE started AS (
    SELECT w.id, w.completed_at
    FROM durable_workflow_status AS w
    WHERE w.parent_id = ANY(%(ids)s::text[])
    UNION
    SELECT below.id, below.completed_at
    FROM started
    CROSS JOIN LATERAL (
        SELECT w.id, w.completed_at
        FROM durable_workflow_status AS w
        WHERE w.parent_id = started.id
        OFFSET 0
    ) AS below
)
SELECT started.id FROM started WHERE started.completed_at IS NULL
