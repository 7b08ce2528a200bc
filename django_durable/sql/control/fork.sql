-- Start copies of runs under new ids, with the history of their originals before a step, all as one snapshot shows
-- it, and what branches of them recorded that had begun before; an id that is taken, or a run that is not there, adds
-- nothing.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey, durable_event_history_pkey,
--              durable_stream_entry_pkey
--   locks      the rows it inserts
--   returns    the id of each copy
WITH given AS MATERIALIZED (
    SELECT unnest(%(ids)s::text[]) AS id, %(step)s::int AS step
), {{older_branches}}, copied AS (
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
    RETURNING forked_from AS original, id
), steps AS (
    INSERT INTO durable_step_output (
        workflow_id, step, name, output, error, serialization, child, attempts, started_at, completed_at
    )
    SELECT copied.id, s.step, s.name, s.output, s.error, s.serialization, s.child, s.attempts, s.started_at,
        s.completed_at
    FROM copied
    JOIN durable_step_output AS s ON s.workflow_id = copied.original
    WHERE s.step > 0 AND (s.step < %(step)s OR EXISTS (
        SELECT FROM older WHERE older.id = s.workflow_id AND s.step BETWEEN older.first AND older.last
    ))
), history AS (
    INSERT INTO durable_event_history (workflow_id, key, step, value, serialization, set_at)
    SELECT copied.id, h.key, h.step, h.value, h.serialization, h.set_at
    FROM copied
    JOIN durable_event_history AS h ON h.workflow_id = copied.original
    WHERE h.step < %(step)s OR EXISTS (
        SELECT FROM older WHERE older.id = h.workflow_id AND h.step BETWEEN older.first AND older.last
    )
), streams AS (
    INSERT INTO durable_stream_entry (workflow_id, key, position, step, value, serialization, closes, written_at)
    SELECT copied.id, t.key, t.position, t.step, t.value, t.serialization, t.closes, t.written_at
    FROM copied
    JOIN durable_stream_entry AS t ON t.workflow_id = copied.original
    WHERE t.step < %(step)s OR EXISTS (
        SELECT FROM older WHERE older.id = t.workflow_id AND t.step BETWEEN older.first AND older.last
    )
), events AS (
    INSERT INTO durable_event (workflow_id, key, value, serialization, updated_at)
    SELECT DISTINCT ON (copied.id, h.key) copied.id, h.key, h.value, h.serialization, h.set_at
    FROM copied
    JOIN durable_event_history AS h ON h.workflow_id = copied.original
    WHERE h.step < %(step)s OR EXISTS (
        SELECT FROM older WHERE older.id = h.workflow_id AND h.step BETWEEN older.first AND older.last
    )
    ORDER BY copied.id, h.key, h.set_at DESC, h.step DESC
)
SELECT copied.id FROM copied
