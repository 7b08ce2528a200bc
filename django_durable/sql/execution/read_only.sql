-- Refuse whatever would write or lock in the rest of this transaction, or of the savepoint that is open.
--   rides on   nothing
--   locks      nothing
--   returns    nothing of use
SELECT set_config('transaction_read_only', 'on', true)
