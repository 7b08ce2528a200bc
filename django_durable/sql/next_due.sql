-- Learn in how many seconds something is due by the clock; what is overdue is below zero.
--   rides on   durable_due, durable_deadline, durable_expiry; the first entry of each
--   locks      nothing
--   returns    the next delayed row, the next deadline, the next expiry; null where there is none
SELECT
    (SELECT extract(epoch FROM min(w.delay_until) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.status = 'DELAYED'),
    (SELECT extract(epoch FROM min(w.deadline) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.deadline IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED', 'PENDING', 'WAITING')),
    (SELECT extract(epoch FROM min(w.expires_at) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.expires_at IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED'))
