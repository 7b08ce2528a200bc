-- Cut the history of runs from a step on: what it recorded, received, published and streamed.
--   rides on   durable_step_output_pkey, durable_mailbox, durable_stream_entry_pkey, durable_event_history_pkey
--   locks      the rows it changes; exact only while the runs' rows are held
--   returns    nothing
WITH steps AS (
    DELETE FROM durable_step_output AS s
    WHERE s.workflow_id = ANY(%(ids)s::text[]) AND abs(s.step) >= %(step)s
), messages AS (
    UPDATE durable_message AS m
    SET consumed_step = NULL
    WHERE m.workflow_id = ANY(%(ids)s::text[]) AND m.consumed_step >= %(step)s
), streams AS (
    DELETE FROM durable_stream_entry AS t
    WHERE t.workflow_id = ANY(%(ids)s::text[]) AND t.step >= %(step)s
), history AS (
    DELETE FROM durable_event_history AS h
    WHERE h.workflow_id = ANY(%(ids)s::text[]) AND h.step >= %(step)s
), kept AS MATERIALIZED (
    SELECT DISTINCT ON (h.workflow_id, h.key) h.workflow_id, h.key, h.value, h.serialization, h.set_at
    FROM durable_event_history AS h
    WHERE h.workflow_id = ANY(%(ids)s::text[]) AND h.step < %(step)s
    ORDER BY h.workflow_id, h.key, h.step DESC
), restored AS (
    UPDATE durable_event AS e
    SET value = kept.value, serialization = kept.serialization, updated_at = kept.set_at
    FROM kept
    WHERE e.workflow_id = kept.workflow_id AND e.key = kept.key
)
DELETE FROM durable_event AS e
WHERE e.workflow_id = ANY(%(ids)s::text[])
    AND NOT EXISTS (SELECT FROM kept WHERE kept.workflow_id = e.workflow_id AND kept.key = e.key)
