-- Delete everything that hangs on the runs `chosen`; a table that refers to runs belongs here.
steps AS (
    DELETE FROM durable_step_output AS t USING chosen WHERE t.workflow_id = chosen.id
), events AS (
    DELETE FROM durable_event AS t USING chosen WHERE t.workflow_id = chosen.id
), history AS (
    DELETE FROM durable_event_history AS t USING chosen WHERE t.workflow_id = chosen.id
), messages AS (
    DELETE FROM durable_message AS t USING chosen WHERE t.workflow_id = chosen.id
), streams AS (
    DELETE FROM durable_stream_entry AS t USING chosen WHERE t.workflow_id = chosen.id
)
