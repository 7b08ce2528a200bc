-- Delete runs, and everything that hangs on them; a table that refers to runs belongs here.
-- Exact only behind the statement that holds them: what came while that waited, its own snapshot does not show.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey, durable_mailbox, durable_event_pkey,
--              durable_event_history_pkey, durable_stream_entry_pkey
--   locks      FOR UPDATE on what it deletes
--   returns    nothing
WITH steps AS (
    DELETE FROM durable_step_output AS t WHERE t.workflow_id = ANY(%(ids)s::text[])
), events AS (
    DELETE FROM durable_event AS t WHERE t.workflow_id = ANY(%(ids)s::text[])
), history AS (
    DELETE FROM durable_event_history AS t WHERE t.workflow_id = ANY(%(ids)s::text[])
), messages AS (
    DELETE FROM durable_message AS t WHERE t.workflow_id = ANY(%(ids)s::text[])
), streams AS (
    DELETE FROM durable_stream_entry AS t WHERE t.workflow_id = ANY(%(ids)s::text[])
)
DELETE FROM durable_workflow_status AS w WHERE w.id = ANY(%(ids)s::text[])
