-- Hold a run against everybody who is about to tell it something, before it decides to wait.
--   rides on   durable_workflow_status_pkey
--   locks      FOR UPDATE: waits for senders, who hold FOR KEY SHARE until their message is committed
--   returns    the id; nothing if the run was superseded
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = %(id)s AND w.claim_token = %(token)s
FOR UPDATE
