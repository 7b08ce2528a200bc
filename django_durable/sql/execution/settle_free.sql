-- Write the outcomes of many runs, each guarded by the token of its own claim, and wait for nobody.
-- One that names a step of its run is written only if that is recorded: it may have been left for a lock.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED in id order
--   returns    place in the arrays from 0, whether its waiters are to be woken first; one that is missing was superseded or is locked elsewhere
WITH ended AS MATERIALIZED (
    SELECT *
    FROM unnest(
        %(ids)s::text[], %(tokens)s::uuid[], %(statuses)s::text[], %(outputs)s::text[], %(errors)s::text[],
        %(steps)s::int[]
    ) WITH ORDINALITY AS ended (id, token, status, output, error, step, place)
    -- not EXISTS, for which the whole table may be read once instead
    WHERE ended.step IS NULL OR (
        SELECT true FROM durable_step_output AS s WHERE s.workflow_id = ended.id AND s.step = ended.step
    )
), owned AS MATERIALIZED (
    SELECT w.id, w.claim_token, w.awaited AND NOT %(wakes_waiters)s AS is_left
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE SKIP LOCKED
), {{settle_owned}}
