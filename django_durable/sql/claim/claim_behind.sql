-- Claim the first rows behind the floor of a line that no limit and no turn can reorder, in one statement.
-- Rows that peers hold are passed over, and told: no floor may rise above them. Where those leave too few, none is taken.
--   rides on   durable_line, one seek; then the places of the rows: their status, which no index serves, tells
--              those that were claimed while the statement began
--   locks      FOR NO KEY UPDATE SKIP LOCKED on the rows it takes
--   returns    id, rank, line of the rows seen, with the whole row if it is taken, else
--              nulls; none if the queue is paused or limited by now, or any key is
WITH plain AS MATERIALIZED (
    SELECT {{commit_without_waiting}}, {{end_if_frozen}}
    FROM durable_queue AS q
    WHERE {{plain_queue}} AND {{reads_committed}} AND NOT EXISTS (SELECT FROM durable_limit)
), seen AS MATERIALIZED (
    SELECT w.id, w.rank, w.line, w.ctid AS place
    FROM durable_workflow_status AS w
    WHERE w.queue = %(queue)s AND w.line IS NOT NULL AND w.rank = %(rank)s AND w.line > %(line)s AND {{ready}}
        AND EXISTS (SELECT FROM plain)
    ORDER BY w.rank, w.line
    LIMIT %(most)s
), free AS MATERIALIZED (
    SELECT w.ctid AS place
    FROM durable_workflow_status AS w
    WHERE w.ctid = ANY(ARRAY(SELECT seen.place FROM seen)) AND w.status = 'ENQUEUED'
    ORDER BY w.rank, w.line
    LIMIT %(slots)s
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE durable_workflow_status AS w
    SET {{start_run}}, {{leave_line}}
    WHERE w.ctid = ANY(ARRAY(SELECT free.place FROM free))
        AND (SELECT count(*) FROM free) = least((SELECT count(*) FROM seen), %(slots)s)
    RETURNING {{claimed_columns}}
)
SELECT seen.id, seen.rank, seen.line, taken.*
FROM seen
LEFT JOIN taken ON taken.id = seen.id
