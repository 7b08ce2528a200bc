-- Hold those of the runs that nobody else holds, for the rest of a transaction.
--   rides on   durable_workflow_status_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED in id order
--   returns    their ids
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = ANY(%(ids)s::text[])
ORDER BY w.id
FOR NO KEY UPDATE SKIP LOCKED
