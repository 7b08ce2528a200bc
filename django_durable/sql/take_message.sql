-- Receive the oldest message of a topic and record it as the step that received it, guarded by the run's token.
--   rides on   durable_workflow_status_pkey, durable_mailbox, durable_step_output_pkey
--   locks      the run's row, then the message
--   returns    whether there was one, its payload and serialization; no row if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), oldest AS MATERIALIZED (
    SELECT m.id, m.payload, m.serialization
    FROM durable_message AS m
    WHERE m.workflow_id = (SELECT owned.id FROM owned) AND m.topic = %(topic)s AND m.consumed_step IS NULL
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
SELECT oldest.id IS NOT NULL, oldest.payload, oldest.serialization
FROM owned LEFT JOIN oldest ON true
