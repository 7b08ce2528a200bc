-- Whose the runs are, to tell those that were superseded from those that another transaction only holds.
--   rides on   durable_workflow_status_pkey
--   locks      nothing
--   returns    id, claim_token of those that exist
SELECT w.id, w.claim_token
FROM durable_workflow_status AS w
WHERE w.id = ANY(%(ids)s::text[])
