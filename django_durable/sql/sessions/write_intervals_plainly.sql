-- Let the session write lengths of time in the one style that the driver reads.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
SET IntervalStyle = 'postgres'
