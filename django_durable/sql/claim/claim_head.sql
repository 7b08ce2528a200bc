-- Claim the head of a line that no limit and no turn can reorder, in one statement.
--   rides on   durable_line; once to see whether a key of the head is limited, before anything is locked
--   locks      FOR NO KEY UPDATE SKIP LOCKED on the rows it takes
--   returns    the whole rows; none if the queue is paused or limited by now, or a row at the head carries a limit
WITH plain AS MATERIALIZED (
    SELECT {{commit_without_waiting}}, {{end_if_frozen}}
    FROM durable_queue AS q
    WHERE {{plain_queue}} AND {{reads_committed}}
        AND (NOT EXISTS (SELECT FROM durable_limit) OR NOT EXISTS (
            SELECT FROM (
                SELECT w.limit_key
                FROM durable_workflow_status AS w
                WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND {{ready}}
                ORDER BY w.rank, w.line
                LIMIT %(slots)s
            ) AS first
            JOIN durable_limit AS l ON l.key = first.limit_key
        ))
), head AS MATERIALIZED (
    SELECT w.ctid, w.limit_key
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND {{ready}} AND EXISTS (SELECT FROM plain)
    ORDER BY w.rank, w.line
    LIMIT %(slots)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE durable_workflow_status AS w
SET {{start_run}}, {{leave_line}}
WHERE w.ctid = ANY(ARRAY(SELECT head.ctid FROM head))
    AND NOT EXISTS (SELECT FROM head AS any_of JOIN durable_limit AS l ON l.key = any_of.limit_key)
RETURNING {{claimed_columns}}
