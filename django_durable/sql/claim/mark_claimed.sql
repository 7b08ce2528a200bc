-- Take the planned rows: all of them, or none where one is held elsewhere or gone, since that may change the plan.
-- A row that somebody changed while the statement began is locked where its new version stands, which this
-- statement does not see: it keeps its place and is left to the next claim.
--   rides on   durable_workflow_status_pkey, then the places of the rows locked; the status is checked outside the
--              scan, so no other index can serve it
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the whole rows that are now this executor's
WITH locked AS MATERIALIZED (
    SELECT w.ctid, w.status, w.queue, w.expires_at, w.app_version
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    FOR NO KEY UPDATE SKIP LOCKED
), whole AS MATERIALIZED (
    SELECT array_agg(w.ctid) AS places, {{commit_without_waiting}}, {{end_if_frozen}}
    FROM locked AS w
    WHERE w.status = 'ENQUEUED' AND w.queue = %(queue)s AND {{ready}}
    HAVING count(*) = cardinality(%(ids)s::text[])
)
UPDATE durable_workflow_status AS w
SET {{start_run}}, {{leave_line}}
WHERE w.ctid = ANY((SELECT whole.places FROM whole)::tid[])
RETURNING {{claimed_columns}}
