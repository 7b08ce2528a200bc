-- Remove an executor that runs nothing any more.
--   rides on   durable_executor_pkey, durable_owned
--   locks      the row
--   returns    the id; nothing if it still owns a run, or is gone
DELETE FROM durable_executor AS e
WHERE e.id = %(executor)s AND NOT EXISTS (SELECT FROM durable_workflow_status AS w WHERE w.executor_id = e.id)
RETURNING e.id
