-- Send a notice that only its sender heeds, to learn whether notices arrive.
--   rides on   nothing
--   locks      the notice queue, at commit
--   returns    nothing of use
SELECT pg_notify('durable_line', %(probe)s)
