-- Put runs that ended, or stand in line, (back) in line at a new place, their counters reset.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    id of each, and the error it had ended with
WITH chosen AS MATERIALIZED (
    SELECT w.id, w.error, w.status
    FROM durable_workflow_status AS w
    WHERE w.id = ANY(%(ids)s::text[])
    ORDER BY w.id
    FOR NO KEY UPDATE
), place AS MATERIALIZED (
    SELECT ordered.id, ordered.error, ordered.status, nextval('durable_line_seq') AS seq
    FROM (
        SELECT chosen.*
        FROM chosen
        JOIN (
            SELECT given.id, min(given.position) AS position
            FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS given (id, position)
            GROUP BY given.id
        ) AS asked USING (id)
        ORDER BY asked.position
    ) AS ordered
)
UPDATE durable_workflow_status AS w
SET {{enter_line}}, queue = coalesce(%(queue)s, w.queue), claims = 0, attempt = 0,
    deadline = (
        SELECT p.deadline
        FROM durable_workflow_status AS p
        WHERE %(of_parents)s AND p.id = w.parent_id AND w.deadline IS NOT NULL
    ),
    expires_at = NULL, started_at = NULL, completed_at = NULL, output = NULL, error = NULL,
    wake_at = NULL, wait_topic = NULL, claim_seq = NULL,
    -- none of these has a claim, but the version that the snapshot shows may: it is checked before the newest is looked up
    {{give_up_claim}}
FROM place
WHERE w.id = place.id AND place.status = ANY(%(sources)s::text[])
RETURNING w.id, place.error
