-- Let time pass for counted starts, in tests.
--   rides on   nothing: it reads the whole table
--   locks      every row
--   returns    nothing
UPDATE durable_rate_start AS s
SET started_at = s.started_at - make_interval(secs => extract(epoch FROM %(by)s::interval)::float8)
