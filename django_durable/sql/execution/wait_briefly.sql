-- Let the statements of this transaction wait for locks no longer than a commit of others takes.
--   rides on   nothing
--   locks      nothing
--   returns    nothing of use
SELECT set_config('lock_timeout', %(milliseconds)s, true)
