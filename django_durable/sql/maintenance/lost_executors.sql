-- Take executors whose lease ran out, so that one worker recovers each.
--   rides on   durable_lease
--   locks      FOR UPDATE SKIP LOCKED
--   returns    their ids
SELECT e.id
FROM durable_executor AS e
WHERE e.lease_expires_at <= statement_timestamp()
ORDER BY e.lease_expires_at
LIMIT %(batch)s
FOR UPDATE SKIP LOCKED
