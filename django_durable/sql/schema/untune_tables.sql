-- Undo tune_tables: the sequences outlive the tables that are dropped next.
-- A table in use by a long transaction ends the migration within seconds, rather than everybody's work behind it.
--   rides on   nothing
--   locks      SHARE UPDATE EXCLUSIVE on the tables
--   returns    nothing
SET LOCAL lock_timeout = '5s';
ALTER SEQUENCE durable_line_seq OWNED BY NONE;
ALTER SEQUENCE durable_arrival_seq OWNED BY NONE;
ALTER SEQUENCE durable_claim_seq OWNED BY NONE
