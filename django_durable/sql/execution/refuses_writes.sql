-- Ask whether nothing can be written in this session, or in another one that is opened now: by what the server is or
-- was told, not by what this session was told in a statement of its own.
--   rides on   nothing
--   locks      nothing
--   returns    one truth
SELECT pg_is_in_recovery() OR EXISTS (
    SELECT FROM pg_settings AS s
    WHERE s.name = 'default_transaction_read_only' AND s.setting = 'on' AND s.source <> 'session'
)
