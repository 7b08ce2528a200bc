-- Set the current value of an event, and keep it in the history under the step that set it.
--   rides on   durable_event_pkey, durable_event_history_pkey
--   locks      the rows it writes
--   returns    nothing
WITH kept AS (
    INSERT INTO durable_event_history AS h (workflow_id, key, step, value, serialization, set_at)
    VALUES (%(workflow)s, %(key)s, %(step)s, %(value)s, %(serialization)s, clock_timestamp())
    ON CONFLICT (workflow_id, key, step) DO UPDATE
        SET value = excluded.value, serialization = excluded.serialization, set_at = excluded.set_at
)
INSERT INTO durable_event AS e (workflow_id, key, value, serialization, updated_at)
VALUES (%(workflow)s, %(key)s, %(value)s, %(serialization)s, clock_timestamp())
ON CONFLICT (workflow_id, key) DO UPDATE
    SET value = excluded.value, serialization = excluded.serialization, updated_at = excluded.updated_at
