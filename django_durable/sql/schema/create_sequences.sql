-- Places in line, arrivals and claims: cache 1, so that their order is the order in which they were asked for.
--   rides on   nothing
--   locks      nothing
--   returns    nothing
CREATE SEQUENCE durable_line_seq AS bigint CACHE 1;
CREATE SEQUENCE durable_arrival_seq AS bigint CACHE 1;
CREATE SEQUENCE durable_claim_seq AS bigint CACHE 1
