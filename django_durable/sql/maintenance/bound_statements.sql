-- Bound how long the statements of this transaction may take.
--   rides on   nothing
--   locks      nothing
--   returns    nothing of use
SELECT set_config('statement_timeout', %(milliseconds)s, true)
