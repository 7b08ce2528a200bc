-- Name the open transactions that drew a number of a claim: a draw locks the sequence until its transaction ended.
--   rides on   pg_locks
--   locks      nothing
--   returns    virtual transactions
SELECT l.virtualtransaction
FROM pg_locks AS l
WHERE l.locktype = 'relation' AND l.relation = to_regclass('durable_claim_seq') AND l.mode = 'RowExclusiveLock'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
