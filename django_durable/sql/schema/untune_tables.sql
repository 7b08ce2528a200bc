-- Undo tune_tables: the sequences outlive the tables that are dropped next.
--   rides on   nothing
--   locks      SHARE UPDATE EXCLUSIVE on the tables
--   returns    nothing
ALTER SEQUENCE durable_line_seq OWNED BY NONE;
ALTER SEQUENCE durable_arrival_seq OWNED BY NONE;
ALTER SEQUENCE durable_claim_seq OWNED BY NONE
