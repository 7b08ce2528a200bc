-- Let the open transaction, which is a test's, rest between its statements as the session's begin: a claim bounded that.
--   rides on   nothing
--   locks      nothing
--   returns    nothing of use
SELECT set_config(s.name, s.reset_val, true) FROM pg_settings AS s WHERE s.name = 'idle_in_transaction_session_timeout'
