-- Ask whether what a run is about to wait for is there already.
--   rides on   durable_mailbox, durable_event_pkey, durable_workflow_status_pkey
--   locks      nothing; exact only behind hold_own_run, await_runs and hold_publisher
--   returns    one truth value
SELECT
    EXISTS (
        SELECT FROM durable_message AS m
        WHERE m.workflow_id = %(id)s AND m.topic = ANY(%(mailboxes)s::text[]) AND m.consumed_step IS NULL
    ) OR EXISTS (
        SELECT FROM unnest(%(publishers)s::text[], %(keys)s::text[]) AS wanted (workflow_id, key)
        JOIN durable_event AS e USING (workflow_id, key)
    ) OR EXISTS (
        SELECT FROM unnest(%(runs)s::text[]) AS wanted (id)
        LEFT JOIN durable_workflow_status AS w ON w.id = wanted.id
        WHERE w.id IS NULL OR w.completed_at IS NOT NULL
    )
