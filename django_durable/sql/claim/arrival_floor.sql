-- Read the high-water mark of the arrival sequence, where its numbers rise with every call.
--   rides on   pg_sequence
--   locks      nothing
--   returns    the last number, or null: cached, cycling, falling, not ours or not readable
SELECT CASE
    WHEN s.seqcache = 1 AND s.seqincrement = 1 AND NOT s.seqcycle
        AND has_sequence_privilege(s.seqrelid, 'SELECT')
        AND s.seqrelid = pg_get_serial_sequence('durable_workflow_status', 'arrival')::regclass
    THEN coalesce(pg_sequence_last_value(s.seqrelid), 0)
END
FROM pg_sequence AS s
WHERE s.seqrelid = to_regclass('durable_arrival_seq')
