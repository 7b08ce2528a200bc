-- Lock planned rows before they are marked, where a row that is held or gone may change what else fits.
--   rides on   durable_workflow_status_pkey; the status is checked outside the scan, so no other index can serve it
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the ids that this transaction now holds and that stand in line
WITH bounded AS MATERIALIZED (
    SELECT {{end_if_frozen}}
), locked AS MATERIALIZED (
    SELECT w.id, w.status, w.queue, w.expires_at, w.app_version
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[]) AND EXISTS (SELECT FROM bounded)
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT w.id FROM locked AS w WHERE w.status = 'ENQUEUED' AND w.queue = %(queue)s AND {{ready}}
