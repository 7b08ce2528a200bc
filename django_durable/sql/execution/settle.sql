-- Write the outcomes of many runs, each guarded by the token of its own claim.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    place in the arrays from 0, whether it is left for a transaction that wakes its waiters; one that is missing was superseded
WITH ended AS MATERIALIZED (
    SELECT * FROM unnest(
        %(ids)s::text[], %(tokens)s::uuid[], %(statuses)s::text[], %(outputs)s::text[], %(errors)s::text[]
    ) WITH ORDINALITY AS ended (id, token, status, output, error, place)
), owned AS MATERIALIZED (
    SELECT w.id, w.claim_token, w.awaited AND NOT %(wakes_waiters)s AS is_left
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
), {{settle_owned}}
