-- Plan again as the session does, in a transaction that goes on.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
SET LOCAL plan_cache_mode = DEFAULT
