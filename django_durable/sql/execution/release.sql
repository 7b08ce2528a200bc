-- Give claimed runs back, each guarded by its own token: in line at their place.
-- Where nothing is recorded yet it is as if the claim had not been, and the time by which to start still holds.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED in id order
--   returns    the ids given back; one that is missing was superseded or is locked elsewhere
WITH given AS (
    SELECT * FROM unnest(%(ids)s::text[], %(tokens)s::uuid[]) AS given (id, token)
), place AS MATERIALIZED (
    SELECT w.id, w.seq
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{enter_line}}, started_at = NULL, claim_seq = NULL, claims = greatest(w.claims - %(forgiven)s, 0), {{give_up_claim}},
    expires_at = CASE
        WHEN NOT EXISTS (SELECT FROM durable_step_output AS s WHERE s.workflow_id = w.id) THEN w.expires_at
    END
FROM place JOIN given USING (id)
WHERE w.id = place.id AND w.claim_token = given.token
RETURNING w.id
