-- Read the last number that a claim drew, where numbers rise with every draw and one can see who is drawing.
--   rides on   pg_sequence
--   locks      nothing
--   returns    the last number, or null: cached, cycling, falling, or not for us to read
SELECT CASE
    WHEN s.seqcache = 1 AND s.seqincrement > 0 AND NOT s.seqcycle
        AND has_sequence_privilege(s.seqrelid, 'USAGE, SELECT')
        AND has_table_privilege('pg_locks', 'SELECT') AND has_function_privilege('pg_lock_status()', 'EXECUTE')
    THEN coalesce(pg_sequence_last_value(s.seqrelid), 0)
END
FROM pg_sequence AS s
WHERE s.seqrelid = to_regclass('durable_claim_seq')
