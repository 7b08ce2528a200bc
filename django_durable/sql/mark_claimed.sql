-- Take the planned rows that nobody else holds.
--   rides on   durable_workflow_status_pkey; the status is checked outside the scan, so no other index can serve it
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the whole rows that are now this executor's
WITH locked AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{start_run}}, {{leave_line}}
FROM locked
WHERE w.id = locked.id AND w.status = 'ENQUEUED' AND w.queue = %(queue)s AND {{ready}}
RETURNING {{claimed_columns}}
