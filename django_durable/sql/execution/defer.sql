-- Set a run aside for a while, guarded by its token: a retry, a snooze, or code that is not here.
-- One that began has started in time; code that is not here has begun nothing.
--   rides on   durable_workflow_status_pkey
--   locks      the row
--   returns    the id; nothing if the run was superseded
UPDATE durable_workflow_status AS w
SET status = 'DELAYED', delay_until = clock_timestamp() + %(delay)s::interval, updated_at = clock_timestamp(),
    seq = CASE WHEN %(keeps_place)s THEN w.seq END, attempt = w.attempt + %(failures)s,
    claims = greatest(w.claims - %(forgiven)s, 0), claim_seq = NULL, started_at = NULL, error = %(error)s,
    expires_at = CASE WHEN %(keeps_place)s AND %(forgiven)s > 0 THEN w.expires_at END,
    {{give_up_claim}}
WHERE w.id = %(id)s AND w.claim_token = %(token)s
RETURNING w.id
