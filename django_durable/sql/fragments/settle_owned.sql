-- Outcomes of the runs in `owned`, whose rows are locked.
settled AS (
    UPDATE durable_workflow_status AS w
    SET status = ended.status, output = ended.output, error = ended.error,
        completed_at = clock_timestamp(), updated_at = clock_timestamp(),
        attempt = w.attempt + (ended.status = 'ERROR')::int, claim_seq = NULL, deduplication_id = NULL,
        {{give_up_claim}}
    FROM ended
    JOIN owned USING (id)
    WHERE w.id = ended.id AND w.claim_token = ended.token AND NOT owned.is_left
    RETURNING ended.place
)
SELECT settled.place::int - 1, false FROM settled
UNION ALL
SELECT ended.place::int - 1, true
FROM ended
JOIN owned ON owned.id = ended.id AND owned.claim_token = ended.token
WHERE owned.is_left
