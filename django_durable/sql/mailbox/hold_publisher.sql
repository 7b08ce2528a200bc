-- Hold a run that publishes events against publishing, while somebody decides to wait for one.
--   rides on   durable_workflow_status_pkey
--   locks      FOR SHARE: waits for an event that is being set
--   returns    the id; nothing if there is no such run yet
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = %(workflow)s
FOR SHARE
