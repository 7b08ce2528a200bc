-- Undo create_sequences.
--   rides on   nothing
--   locks      the sequences
--   returns    nothing
DROP SEQUENCE IF EXISTS durable_line_seq;
DROP SEQUENCE IF EXISTS durable_arrival_seq;
DROP SEQUENCE IF EXISTS durable_claim_seq
