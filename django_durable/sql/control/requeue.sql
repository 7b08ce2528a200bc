-- Put runs that ended, or stand in line, (back) in line at a new place, their counters reset.
--   rides on   durable_workflow_status_pkey, durable_step_output_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    id of each
WITH chosen AS MATERIALIZED (
    SELECT w.id
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
), place AS MATERIALIZED (
    SELECT ordered.id, nextval('durable_line_seq') AS seq
    FROM (SELECT * FROM chosen ORDER BY array_position(%(ids)s::text[], chosen.id)) AS ordered
), requeued AS (
    UPDATE durable_workflow_status AS w
    SET {{enter_line}}, queue = coalesce(%(queue)s, w.queue), claims = 0, attempt = 0,
        deadline = NULL, expires_at = NULL, started_at = NULL, completed_at = NULL, output = NULL, error = NULL,
        wake_at = NULL, wait_topic = NULL, claim_seq = NULL
    FROM place
    WHERE w.id = place.id AND w.status = ANY(%(sources)s::text[])
    RETURNING w.id
), last AS MATERIALIZED (
    SELECT DISTINCT ON (t.workflow_id) t.workflow_id, t.step, t.error
    FROM requeued
    JOIN durable_step_output AS t ON t.workflow_id = requeued.id
    WHERE %(drops_failure)s AND t.name NOT LIKE 'durable.%%.timer'
    ORDER BY t.workflow_id, t.step DESC
), dropped AS (
    DELETE FROM durable_step_output AS s
    USING last
    WHERE s.workflow_id = last.workflow_id AND last.error IS NOT NULL AND abs(s.step) >= last.step
)
SELECT requeued.id FROM requeued
