-- Read the database's clock.
--   rides on   nothing
--   locks      nothing
--   returns    one instant
SELECT clock_timestamp()
