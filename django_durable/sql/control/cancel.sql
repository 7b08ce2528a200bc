-- Cancel runs whose status allows it.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE in id order
--   returns    the ids cancelled
WITH {{chosen}}
UPDATE durable_workflow_status AS w
SET {{cancelled}}, {{give_up_claim}}, {{leave_line}}
FROM chosen
WHERE w.id = chosen.id AND w.status = ANY(%(sources)s::text[])
RETURNING w.id
