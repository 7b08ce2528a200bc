-- Tell rows that another transaction holds from rows that are gone.
--   rides on   durable_workflow_status_pkey
--   locks      nothing
--   returns    the ids that stand in line by what is committed
WITH found AS MATERIALIZED (
    SELECT w.id, w.status, w.queue, w.expires_at, w.app_version
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
)
SELECT w.id FROM found AS w WHERE w.status = 'ENQUEUED' AND w.queue = %(queue)s AND {{ready}}
