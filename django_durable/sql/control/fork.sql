-- Start copies of runs under new ids; an id that is taken, or a run that is not there, adds nothing.
--   rides on   durable_workflow_status_pkey
--   locks      the rows it inserts
--   returns    the id of each original and of its copy
WITH copied AS (
    INSERT INTO durable_workflow_status (
        id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, partition_key, limit_key,
        app_version, attempt, max_attempts, claims, created_at, updated_at, timeout, input, serialization,
        forked_from, attributes, headers, awaited
    )
    SELECT
        placed.copy, placed.name, 'ENQUEUED', placed.queue, placed.priority, placed.place, placed.place, placed.place,
        pg_current_xact_id(), nextval('durable_arrival_seq'), placed.partition_key, placed.limit_key,
        coalesce(%(app_version)s, placed.app_version), 0, placed.max_attempts, 0, clock_timestamp(),
        clock_timestamp(), placed.timeout, placed.input, placed.serialization, placed.id, placed.attributes,
        placed.headers, false
    FROM (
        SELECT w.*, given.copy, nextval('durable_line_seq') AS place
        FROM unnest(%(ids)s::text[], %(copies)s::text[]) WITH ORDINALITY AS given (original, copy, position)
        JOIN durable_workflow_status AS w ON w.id = given.original
        ORDER BY given.position
    ) AS placed
    ON CONFLICT DO NOTHING
    RETURNING forked_from, id
)
SELECT copied.forked_from, copied.id FROM copied
