-- Set a run aside for a while, guarded by its token: a retry, a snooze, or code that is not here.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      the row
--   returns    the id; nothing if the run was superseded
WITH deferred AS (
    UPDATE durable_workflow_status AS w
    SET status = 'DELAYED', delay_until = clock_timestamp() + %(delay)s::interval, updated_at = clock_timestamp(),
        seq = CASE WHEN %(keeps_place)s THEN w.seq END, attempt = w.attempt + %(failures)s,
        claims = greatest(w.claims - %(forgiven)s, 0), claim_seq = NULL, started_at = NULL, error = %(error)s,
        {{give_up_claim}}
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    RETURNING w.id
), dropped AS (
    DELETE FROM durable_step_output AS s
    USING deferred
    WHERE %(failures)s > 0 AND s.workflow_id = deferred.id AND s.error IS NOT NULL
        AND s.step = (SELECT max(last.step) FROM durable_step_output AS last WHERE last.workflow_id = deferred.id)
)
SELECT deferred.id FROM deferred
