-- Read the whole history of a run in one go, for its replay.
--   rides on   durable_step_output_pkey
--   locks      nothing
--   returns    step, name, output, error, serialization, child, completed_at
SELECT s.step, s.name, s.output, s.error, s.serialization, s.child, s.completed_at
FROM durable_step_output AS s
WHERE s.workflow_id = %(id)s
ORDER BY s.step
