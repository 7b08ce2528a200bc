-- Write the outcomes of many runs, each guarded by the token of its own claim.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    id, token of each that held; one that is missing was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
)
UPDATE durable_workflow_status AS w
SET status = ended.status, output = ended.output, error = ended.error,
    completed_at = clock_timestamp(), updated_at = clock_timestamp(),
    attempt = w.attempt + (ended.status = 'ERROR')::int, claim_seq = NULL, deduplication_id = NULL, {{give_up_claim}}
FROM unnest(
    %(ids)s::text[], %(tokens)s::uuid[], %(statuses)s::text[], %(outputs)s::text[], %(errors)s::text[]
) AS ended (id, token, status, output, error)
JOIN owned USING (id)
WHERE w.id = ended.id AND w.claim_token = ended.token
RETURNING w.id, ended.token
