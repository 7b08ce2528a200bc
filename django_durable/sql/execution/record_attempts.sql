-- Keep what a step's retries must know after a long delay, under the negative number of the step.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      the run's row
--   returns    the id; nothing if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), kept AS (
    INSERT INTO durable_step_output AS s (
        workflow_id, step, name, output, serialization, attempts, started_at, completed_at
    )
    SELECT owned.id, -%(step)s::int, %(name)s, %(output)s, 'json', %(attempts)s, clock_timestamp(), clock_timestamp()
    FROM owned
    ON CONFLICT (workflow_id, step) DO UPDATE
        SET output = excluded.output, attempts = excluded.attempts, completed_at = excluded.completed_at
)
SELECT owned.id FROM owned
