-- Write the outcomes of many runs, each guarded by the token of its own claim.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    id, token, whether it is left for a transaction that wakes its waiters; one that is missing was superseded
WITH ended AS MATERIALIZED (
    SELECT * FROM unnest(
        %(ids)s::text[], %(tokens)s::uuid[], %(statuses)s::text[], %(outputs)s::text[], %(errors)s::text[]
    ) AS ended (id, token, status, output, error)
), owned AS MATERIALIZED (
    SELECT w.id, w.claim_token, w.awaited AND NOT %(wakes_waiters)s AS is_left
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
), settled AS (
    UPDATE durable_workflow_status AS w
    SET status = ended.status, output = ended.output, error = ended.error,
        completed_at = clock_timestamp(), updated_at = clock_timestamp(),
        attempt = w.attempt + (ended.status = 'ERROR')::int, claim_seq = NULL, deduplication_id = NULL,
        {{give_up_claim}}
    FROM ended
    JOIN owned USING (id)
    WHERE w.id = ended.id AND w.claim_token = ended.token AND NOT owned.is_left
    RETURNING w.id, ended.token
)
SELECT settled.id, settled.token, false FROM settled
UNION ALL
SELECT ended.id, ended.token, true
FROM ended
JOIN owned ON owned.id = ended.id AND owned.claim_token = ended.token
WHERE owned.is_left
