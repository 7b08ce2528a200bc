-- Learn in how many seconds something is due by the clock; what is overdue is below zero.
--   rides on   durable_due, durable_deadline, durable_expiry, the first entry of each; durable_wake_into_line
--   locks      nothing
--   returns    the next delayed row, deadline, expiry, and wake of a row that goes back in line; null: there is none
SELECT
    (SELECT extract(epoch FROM min(w.delay_until) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.status = 'DELAYED'),
    (SELECT extract(epoch FROM min(w.deadline) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.deadline IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED', 'PENDING', 'WAITING')),
    (SELECT extract(epoch FROM min(w.expires_at) - statement_timestamp())::float8
     FROM durable_workflow_status AS w
     WHERE w.expires_at IS NOT NULL AND w.status IN ('DELAYED', 'ENQUEUED')),
    (SELECT extract(epoch FROM min(first.wake_at) - statement_timestamp())::float8
     FROM durable_queue AS q
     CROSS JOIN LATERAL (
         SELECT w.wake_at
         FROM durable_workflow_status AS w
         WHERE w.queue = q.name AND w.status = 'WAITING' AND w.wake_at IS NOT NULL AND w.claim_seq IS NULL
         ORDER BY w.wake_at
         LIMIT 1
     ) AS first)
