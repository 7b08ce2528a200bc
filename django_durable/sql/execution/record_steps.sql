-- Record checkpoints of many runs, each guarded by the token of its own claim.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      the runs' rows FOR NO KEY UPDATE in id order, so that no takeover comes between check and commit
--   returns    place in the arrays from 0, whether it is new, of each whose run is still owned; others were superseded
WITH owned AS MATERIALIZED (
    SELECT w.id, w.claim_token
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
), {{record_owned_steps}}
