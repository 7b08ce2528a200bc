-- Forget that a call was given up, so that it can be made and recorded.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      the run's row, the step's
--   returns    the id; nothing if the run was superseded
WITH owned AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = %(id)s AND w.claim_token = %(token)s
    FOR NO KEY UPDATE
), forgotten AS (
    DELETE FROM durable_step_output AS s
    USING owned
    WHERE s.workflow_id = owned.id AND s.step = %(step)s AND s.name = %(name)s
)
SELECT owned.id FROM owned
