-- Change the priority of runs that are under way, or replace the attributes of any.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    the ids changed
WITH {{chosen}}
UPDATE durable_workflow_status AS w
SET priority = coalesce(%(priority)s, w.priority), attributes = coalesce(%(attributes)s::jsonb, w.attributes),
    enqueued_xid = CASE
        WHEN w.enqueued_xid IS NOT NULL AND %(priority)s::int IS NOT NULL THEN pg_current_xact_id()
        ELSE w.enqueued_xid
    END,
    arrival = CASE
        WHEN w.arrival IS NOT NULL AND %(priority)s::int IS NOT NULL THEN nextval('durable_arrival_seq')
        ELSE w.arrival
    END,
    updated_at = clock_timestamp()
FROM chosen
WHERE w.id = chosen.id AND w.status = ANY(%(sources)s::text[])
RETURNING w.id
