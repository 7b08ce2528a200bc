-- Bound how long the statements of this transaction may take, and how long it may rest between them.
--   rides on   nothing
--   locks      nothing
--   returns    nothing of use
SELECT set_config('statement_timeout', %(statement)s, true), set_config(
    'idle_in_transaction_session_timeout',
    coalesce(%(idle)s, current_setting('idle_in_transaction_session_timeout')), true
)
