-- Use plans that serve any parameters, until the transaction ends.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
SET LOCAL plan_cache_mode = force_generic_plan
