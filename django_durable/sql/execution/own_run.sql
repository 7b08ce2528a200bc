-- Confirm and hold the ownership of a run for the rest of a transaction.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE
--   returns    the id; nothing if the run was superseded
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = %(id)s AND w.claim_token = %(token)s
FOR NO KEY UPDATE
