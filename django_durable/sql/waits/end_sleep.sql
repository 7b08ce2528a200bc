-- Record that a sleep has ended, among other branches of its body: a replay ends it at the same place among theirs.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      the run's row, then the step's
--   returns    the id; nothing if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), ended AS (
    UPDATE durable_step_output AS s
    SET completed_at = greatest(clock_timestamp(), to_timestamp(%(until)s))
    FROM owned
    WHERE s.workflow_id = owned.id AND s.step = %(step)s
)
SELECT owned.id FROM owned
