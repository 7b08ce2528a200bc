-- Put delayed rows whose time has come in line.
--   rides on   durable_due
--   locks      FOR UPDATE SKIP LOCKED, in order of their time
--   returns    the ids, and the queues they joined
WITH due AS MATERIALIZED (
    SELECT w.id, w.seq, w.delay_until
    FROM durable_workflow_status AS w
    WHERE w.status = 'DELAYED' AND w.delay_until <= statement_timestamp() AND w.id <> ALL(%(refused)s::text[])
    ORDER BY w.delay_until
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
), place AS MATERIALIZED (
    SELECT ordered.id, coalesce(ordered.seq, nextval('durable_line_seq')) AS seq
    FROM (SELECT * FROM due ORDER BY due.delay_until, due.id) AS ordered
)
UPDATE durable_workflow_status AS w
SET {{enter_line}},
    deduplication_id = CASE WHEN w.headers @> '{"bounces": true}' THEN NULL ELSE w.deduplication_id END
FROM place
WHERE w.id = place.id AND w.status = 'DELAYED'
RETURNING w.id, w.queue
