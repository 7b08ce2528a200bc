-- Find the receivers of messages, and hold them against deciding to wait until the messages are committed.
--   rides on   durable_workflow_status_pkey
--   locks      FOR KEY SHARE in id order: in nobody's way but a run's that is about to wait, or a deletion's
--   returns    the ids that exist
SELECT w.id
FROM durable_workflow_status AS w
WHERE w.id = ANY(%(ids)s::text[])
ORDER BY w.id
FOR KEY SHARE
