-- Delete runs that have ended, and everything that hangs on them.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey, durable_mailbox, durable_event_pkey,
--              durable_event_history_pkey, durable_stream_entry_pkey
--   locks      FOR UPDATE in id order
--   returns    the ids deleted
WITH chosen AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[]) AND w.status = ANY(%(sources)s::text[])
    ORDER BY w.id
    FOR UPDATE
), {{delete_what_hangs}}
DELETE FROM durable_workflow_status AS w
USING chosen
WHERE w.id = chosen.id AND w.status = ANY(%(sources)s::text[])
RETURNING w.id
