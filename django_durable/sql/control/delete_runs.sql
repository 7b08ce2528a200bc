-- Delete runs that have ended, and everything that hangs on them.
--   rides on   durable_workflow_status_pkey, and the primary key or first index of each table
--   locks      FOR UPDATE in id order
--   returns    the ids deleted
WITH chosen AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[]) AND w.status = ANY(%(sources)s::text[])
    ORDER BY w.id
    FOR UPDATE
), {{delete_what_hangs}}
DELETE FROM durable_workflow_status AS w
USING chosen
WHERE w.id = chosen.id AND w.status = ANY(%(sources)s::text[])
RETURNING w.id
