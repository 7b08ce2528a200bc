-- Read the runs that an executor has claimed and does not know of: the answer of their claim was lost.
--   rides on   durable_owned
--   locks      nothing
--   returns    the whole rows
SELECT {{claimed_columns}}
FROM durable_workflow_status AS w
WHERE w.executor_id = %(executor)s AND w.status = 'PENDING' AND w.claim_token <> ALL(%(known)s::uuid[])
