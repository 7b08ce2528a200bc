-- Checkpoints of the runs in `owned`, whose rows are locked.
given AS MATERIALIZED (
    SELECT s.*
    FROM unnest(
        %(ids)s::text[], %(tokens)s::uuid[], %(steps)s::int[], %(names)s::text[], %(outputs)s::text[],
        %(errors)s::text[], %(serializations)s::text[], %(children)s::text[], %(attempts)s::int[],
        %(seconds)s::float8[]
    ) WITH ORDINALITY AS s (
        workflow_id, token, step, name, output, error, serialization, child, attempts, seconds, place
    )
    JOIN owned ON owned.id = s.workflow_id AND owned.claim_token = s.token
), written AS (
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, error, serialization, child, attempts, started_at, completed_at
    )
    SELECT given.workflow_id, given.step, given.name, given.output, given.error, given.serialization, given.child,
        given.attempts, clock_timestamp() - given.seconds * interval '1 second', clock_timestamp()
    FROM given
    ON CONFLICT (workflow_id, step) DO NOTHING
    RETURNING workflow_id, step
)
SELECT given.place::int - 1,
    (given.workflow_id, given.step) IN (SELECT written.workflow_id, written.step FROM written)
FROM given
