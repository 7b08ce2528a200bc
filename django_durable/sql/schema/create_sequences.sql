-- Places in line, arrivals and claims: cache 1, so that their order is the order in which they were asked for.
-- A table in use by a long transaction ends the migration within seconds, rather than everybody's work behind it.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
SET LOCAL lock_timeout = '5s';
CREATE SEQUENCE durable_line_seq AS bigint CACHE 1;
CREATE SEQUENCE durable_arrival_seq AS bigint CACHE 1;
CREATE SEQUENCE durable_claim_seq AS bigint CACHE 1
