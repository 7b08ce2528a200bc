-- Let the rest of a migration give up within seconds where a long transaction holds what it needs.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
SET LOCAL lock_timeout = '5s'
