-- Learn in how many seconds the next delayed row is due.
--   rides on   durable_due
--   locks      nothing
--   returns    one number, or null
SELECT extract(epoch FROM min(w.delay_until) - statement_timestamp())::float8
FROM durable_workflow_status AS w
WHERE w.status = 'DELAYED'
