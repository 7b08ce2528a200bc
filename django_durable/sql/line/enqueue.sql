-- Enqueue runs of one workflow function, in the order given; an id or deduplication id that is taken adds nothing.
-- A length is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_workflow_status_pkey and durable_deduplication, to find conflicts
--   locks      the rows it inserts
--   returns    the ids that were inserted, and whether their queue exists
INSERT INTO durable_workflow_status (
    id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival,
    partition_key, limit_key, deduplication_id, app_version, attempt, max_attempts, claims,
    created_at, updated_at, delay_until, expires_at, timeout, deadline,
    input, serialization, parent_id, parent_step, forked_from, schedule_name, attributes, headers, awaited
)
SELECT
    placed.id, %(name)s, CASE WHEN placed.place IS NULL THEN 'DELAYED' ELSE 'ENQUEUED' END, %(queue)s, %(priority)s,
    placed.place, placed.place, placed.place,
    CASE WHEN placed.place IS NOT NULL THEN pg_current_xact_id() END,
    CASE WHEN placed.place IS NOT NULL THEN nextval('durable_arrival_seq') END,
    %(partition_key)s, %(limit_key)s, %(deduplication_id)s, %(app_version)s, 0, %(max_attempts)s, 0,
    placed.clock, placed.clock, CASE WHEN placed.place IS NULL THEN placed.due END,
    coalesce(
        %(expires_at)s::timestamptz,
        placed.clock + make_interval(secs => extract(epoch FROM %(expires_in)s::interval)::float8)
    ),
    %(timeout)s::interval, %(deadline)s::timestamptz,
    placed.input, %(serialization)s, %(parent)s, %(parent_step)s, NULL, %(schedule_name)s,
    %(attributes)s::jsonb, %(headers)s::jsonb, false
FROM (
    SELECT
        given.id, given.input, given.clock, given.due,
        CASE WHEN given.due > given.clock THEN NULL ELSE nextval('durable_line_seq') END AS place
    FROM (
        SELECT
            item.id, item.input, statement_timestamp() AS clock,
            coalesce(
                %(run_at)s::timestamptz,
                statement_timestamp() + make_interval(secs => extract(epoch FROM %(delay)s::interval)::float8)
            ) AS due
        FROM unnest(%(ids)s::text[], %(inputs)s::text[]) WITH ORDINALITY AS item (id, input, position)
        ORDER BY item.position
    ) AS given
) AS placed
ON CONFLICT DO NOTHING
RETURNING id, EXISTS (SELECT FROM durable_queue AS q WHERE q.name = %(queue)s)
