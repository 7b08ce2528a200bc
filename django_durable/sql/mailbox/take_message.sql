-- Receive the oldest message of a topic and record it as the step that received it, guarded by the run's token.
-- Sent again after its answer got lost, it gives what it took before.
--   rides on   durable_workflow_status_pkey, durable_mailbox, durable_message_pkey, durable_step_output_pkey
--   locks      the run's row, then the message
--   returns    whether there was one, its payload and serialization; no row if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), known AS MATERIALIZED (
    SELECT s.output AS payload, s.serialization
    FROM durable_step_output AS s
    WHERE s.workflow_id = (SELECT owned.id FROM owned) AND s.step = %(step)s
), oldest AS MATERIALIZED (
    SELECT m.id, m.payload, m.serialization
    FROM durable_message AS m
    WHERE m.workflow_id = (SELECT owned.id FROM owned) AND m.topic = %(topic)s AND m.consumed_step IS NULL
        AND NOT EXISTS (SELECT FROM known)
    ORDER BY m.id
    LIMIT 1
    FOR NO KEY UPDATE
), taken AS (
    UPDATE durable_message AS m
    SET consumed_step = %(step)s
    FROM oldest
    WHERE m.id = oldest.id
    RETURNING m.id
), recorded AS (
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, serialization, attempts, started_at, completed_at
    )
    SELECT %(id)s, %(step)s, %(name)s, oldest.payload, oldest.serialization, 1, clock_timestamp(), clock_timestamp()
    FROM oldest
    ON CONFLICT (workflow_id, step) DO NOTHING
)
SELECT found.payload IS NOT NULL, found.payload, found.serialization
FROM owned
LEFT JOIN (
    SELECT known.payload, known.serialization FROM known
    UNION ALL
    SELECT oldest.payload, oldest.serialization FROM oldest
) AS found ON true
