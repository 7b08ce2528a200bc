-- Record that a body gave a call up, also in the place of what the call gave meanwhile; a child that it started
-- stays, a message that it took is there again.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey, durable_mailbox
--   locks      the run's row, the step's, the message's
--   returns    the id; nothing if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), recorded AS (
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, error, serialization, attempts, started_at, completed_at
    )
    SELECT owned.id, %(step)s, %(name)s, %(output)s, %(error)s, 'json', 1,
        clock_timestamp() - %(seconds)s * interval '1 second', clock_timestamp()
    FROM owned
    ON CONFLICT (workflow_id, step) DO UPDATE
        SET name = excluded.name, output = excluded.output, error = excluded.error, serialization = 'json'
), returned AS (
    UPDATE durable_message AS m
    SET consumed_step = NULL
    FROM owned
    WHERE m.workflow_id = owned.id AND m.consumed_step = %(step)s
)
SELECT owned.id FROM owned
