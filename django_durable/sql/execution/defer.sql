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
), last AS MATERIALIZED (
    SELECT DISTINCT ON (t.workflow_id) t.workflow_id, t.step, t.error
    FROM deferred
    JOIN durable_step_output AS t ON t.workflow_id = deferred.id
    WHERE %(failures)s > 0 AND t.name NOT LIKE 'durable.%%.timer'
    ORDER BY t.workflow_id, t.step DESC
), dropped AS (
    DELETE FROM durable_step_output AS s
    USING last
    WHERE s.workflow_id = last.workflow_id AND last.error IS NOT NULL AND abs(s.step) >= last.step
)
SELECT deferred.id FROM deferred
