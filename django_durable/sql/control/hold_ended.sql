-- Hold runs that have ended for their deletion, behind everybody who still tells them something.
--   rides on   durable_workflow_status_pkey
--   locks      FOR UPDATE in id order: waits for senders, who hold FOR KEY SHARE until their message is committed
--   returns    their ids
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = ANY(%(ids)s::text[]) AND w.status = ANY(%(sources)s::text[])
ORDER BY w.id
FOR UPDATE
