-- Let runs leave their worker and wait in the table, each guarded by the token of its own claim.
--   rides on   durable_workflow_status_pkey, durable_queue_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    id, token of each that waits now; one that is missing was superseded
WITH asleep AS MATERIALIZED (
    SELECT * FROM unnest(
        %(ids)s::text[], %(tokens)s::uuid[], %(wakes)s::timestamptz[], %(topics)s::text[], %(several)s::text[]
    ) AS asleep (id, token, wake_at, topic, several)
), owned AS MATERIALIZED (
    SELECT w.id, w.claim_token
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
)
UPDATE durable_workflow_status AS w
SET status = 'WAITING', wake_at = asleep.wake_at, wait_topic = asleep.topic,
    wait_topics = (
        SELECT array_agg(each.topic) FROM json_array_elements_text(asleep.several::json) AS each (topic)
    ),
    claims = 0, expires_at = NULL,
    claim_seq = CASE
        WHEN (SELECT q.waiting_holds_slot FROM durable_queue AS q WHERE q.name = w.queue) IS NOT FALSE
        THEN w.claim_seq
    END,
    updated_at = clock_timestamp(), {{give_up_claim}}
FROM asleep
JOIN owned ON owned.id = asleep.id AND owned.claim_token = asleep.token
WHERE w.id = asleep.id AND w.claim_token = asleep.token
RETURNING w.id, asleep.token
