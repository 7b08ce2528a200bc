-- Hold the limit rows of the keys a plan takes; a key that a peer holds waits for the next claim.
--   rides on   durable_limit_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED
--   returns    the keys now held
WITH bounded AS MATERIALIZED (SELECT {{end_if_frozen}})
SELECT l.key
FROM durable_limit AS l
WHERE l.key = ANY(string_to_array(%(keys)s, E'\x1f')) AND EXISTS (SELECT FROM bounded)
FOR NO KEY UPDATE SKIP LOCKED
