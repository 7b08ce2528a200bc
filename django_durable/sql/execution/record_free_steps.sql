-- Record checkpoints of many runs, each guarded by the token of its own claim, and wait for nobody.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED in id order
--   returns    place in the arrays from 0, whether it is new; one that is missing was superseded or is locked elsewhere
WITH owned AS MATERIALIZED (
    SELECT w.id, w.claim_token
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE SKIP LOCKED
), {{record_owned_steps}}
