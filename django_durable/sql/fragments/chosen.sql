-- The runs that a verb was said to, held in id order: verbs that meet wait for one another, and none for ever.
chosen AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
)
