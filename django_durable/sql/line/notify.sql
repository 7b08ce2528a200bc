-- Tell listening workers that something was put in line; the notice carries no data.
--   rides on   nothing
--   locks      the notice queue, at commit
--   returns    nothing of use
SELECT pg_notify('durable_line', '')
