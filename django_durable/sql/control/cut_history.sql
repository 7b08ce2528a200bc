-- Cut the history of runs from a step on, and single failed steps before it: what they recorded, received,
-- published and streamed. Where no step is given, from the first failure that no success followed. From a number of
-- the body on, what branches recorded that had begun before stays.
--   rides on   durable_step_output_pkey, durable_mailbox, durable_stream_entry_pkey, durable_event_history_pkey,
--              durable_event_pkey, durable_workflow_status_pkey
--   locks      the rows it changes; exact only while the runs' rows are held
--   returns    the children that failed, of whose failures the records are cut, and whose calls are kept; with
--              those whose calls are cut and will find them again, since their ids are not made of the calls
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::text[], %(steps)s::int[]) AS asked (id, step)
), given AS MATERIALIZED (
    SELECT asked.id, asked.step FROM asked WHERE asked.step IS NOT NULL
    UNION ALL
    SELECT asked.id, min(f.step)
    FROM asked
    JOIN durable_step_output AS f ON f.workflow_id = asked.id
    WHERE asked.step IS NULL AND f.step > 0 AND f.error IS NOT NULL AND NOT EXISTS (
        SELECT FROM durable_step_output AS k
        WHERE k.workflow_id = asked.id AND k.step > f.step AND k.error IS NULL AND k.name NOT LIKE 'durable.%%.timer'
    )
    GROUP BY asked.id
), {{older_branches}}, failed AS MATERIALIZED (
    SELECT * FROM unnest(%(failed_ids)s::text[], %(failed_steps)s::int[]) AS failed (id, step)
), steps AS (
    DELETE FROM durable_step_output AS s
    USING given
    WHERE s.workflow_id = given.id AND (
        abs(s.step) >= given.step AND NOT EXISTS (
            SELECT FROM older WHERE older.id = given.id AND abs(s.step) BETWEEN older.first AND older.last
        )
        OR EXISTS (SELECT FROM failed WHERE failed.id = s.workflow_id AND failed.step = abs(s.step))
        OR s.name LIKE 'durable.%%.timer'
            AND EXISTS (SELECT FROM failed WHERE failed.id = s.workflow_id AND failed.step = s.step - 1)
    )
    RETURNING s.workflow_id, s.child, s.name, s.error, given.step AS cut_from
), messages AS (
    UPDATE durable_message AS m
    SET consumed_step = NULL
    FROM given
    WHERE m.workflow_id = given.id AND (
        m.consumed_step >= given.step
            AND NOT EXISTS (
                SELECT FROM older WHERE older.id = given.id AND m.consumed_step BETWEEN older.first AND older.last
            )
        OR EXISTS (SELECT FROM failed WHERE failed.id = m.workflow_id AND failed.step = m.consumed_step)
    )
), streams AS (
    DELETE FROM durable_stream_entry AS t
    USING given
    WHERE t.workflow_id = given.id AND (
        t.step >= given.step AND NOT EXISTS (
            SELECT FROM older WHERE older.id = given.id AND t.step BETWEEN older.first AND older.last
        )
        OR EXISTS (SELECT FROM failed WHERE failed.id = t.workflow_id AND failed.step = t.step)
    )
), history AS (
    DELETE FROM durable_event_history AS h
    USING given
    WHERE h.workflow_id = given.id AND (
        h.step >= given.step AND NOT EXISTS (
            SELECT FROM older WHERE older.id = given.id AND h.step BETWEEN older.first AND older.last
        )
        OR EXISTS (SELECT FROM failed WHERE failed.id = h.workflow_id AND failed.step = h.step)
    )
), kept AS MATERIALIZED (
    SELECT DISTINCT ON (h.workflow_id, h.key) h.workflow_id, h.key, h.value, h.serialization, h.set_at
    FROM durable_event_history AS h
    JOIN given ON given.id = h.workflow_id
    WHERE (h.step < given.step OR EXISTS (
        SELECT FROM older WHERE older.id = given.id AND h.step BETWEEN older.first AND older.last
    ))
        AND NOT EXISTS (SELECT FROM failed WHERE failed.id = h.workflow_id AND failed.step = h.step)
    ORDER BY h.workflow_id, h.key, h.set_at DESC, h.step DESC
), restored AS (
    UPDATE durable_event AS e
    SET value = kept.value, serialization = kept.serialization, updated_at = kept.set_at
    FROM kept
    WHERE e.workflow_id = kept.workflow_id AND e.key = kept.key
), forgotten AS (
    DELETE FROM durable_event AS e
    USING given
    WHERE e.workflow_id = given.id
        AND NOT EXISTS (SELECT FROM kept WHERE kept.workflow_id = e.workflow_id AND kept.key = e.key)
)
SELECT DISTINCT c.id
FROM steps
JOIN durable_workflow_status AS c ON c.id = steps.child AND c.parent_id = steps.workflow_id
CROSS JOIN LATERAL (VALUES (c.parent_id), (encode(sha256(convert_to(c.parent_id, 'UTF8')), 'hex'))) AS made (head)
WHERE steps.error IS NOT NULL AND steps.name = 'durable.result' AND c.status || '' = 'ERROR'
GROUP BY c.id
HAVING NOT bool_or(
    c.parent_step >= steps.cut_from
    AND NOT EXISTS (
        SELECT FROM older WHERE older.id = c.parent_id AND c.parent_step BETWEEN older.first AND older.last
    )
    AND starts_with(c.id, made.head)
    AND substr(c.id, length(made.head) + 1) ~ ('^-' || c.parent_step || '([.][0-9]+)?(-[0-9]+)?$')
)
