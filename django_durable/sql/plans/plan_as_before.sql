-- Set again for this transaction what plan_in_general found.
--   rides on   nothing
--   locks      nothing
--   returns    what is set now
SELECT
    set_config('plan_cache_mode', found.before[1], true),
    set_config('enable_seqscan', found.before[2], true),
    set_config('jit', found.before[3], true)
FROM (SELECT string_to_array(current_setting('durable.planning'), ' ') AS before) AS found
