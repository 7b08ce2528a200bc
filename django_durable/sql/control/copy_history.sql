-- Give copies of runs the history of their originals before a step.
--   rides on   durable_step_output_pkey, durable_event_history_pkey, durable_stream_entry_pkey
--   locks      the rows it inserts
--   returns    nothing
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::text[], %(copies)s::text[]) AS given (original, copy)
), steps AS (
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, error, serialization, child, attempts, started_at, completed_at
    )
    SELECT given.copy, s.step, s.name, s.output, s.error, s.serialization, s.child, s.attempts, s.started_at,
        s.completed_at
    FROM given
    JOIN durable_step_output AS s ON s.workflow_id = given.original
    WHERE s.step > 0 AND s.step < %(step)s
), history AS (
    INSERT INTO durable_event_history (workflow_id, key, step, value, serialization, set_at)
    SELECT given.copy, h.key, h.step, h.value, h.serialization, h.set_at
    FROM given
    JOIN durable_event_history AS h ON h.workflow_id = given.original
    WHERE h.step < %(step)s
), streams AS (
    INSERT INTO durable_stream_entry (workflow_id, key, position, step, value, serialization, closes, written_at)
    SELECT given.copy, t.key, t.position, t.step, t.value, t.serialization, t.closes, t.written_at
    FROM given
    JOIN durable_stream_entry AS t ON t.workflow_id = given.original
    WHERE t.step < %(step)s
)
INSERT INTO durable_event (workflow_id, key, value, serialization, updated_at)
SELECT DISTINCT ON (given.copy, h.key) given.copy, h.key, h.value, h.serialization, h.set_at
FROM given
JOIN durable_event_history AS h ON h.workflow_id = given.original
WHERE h.step < %(step)s
ORDER BY given.copy, h.key, h.step DESC
