-- Use plans that serve any parameters and read no table from end to end, until plan_as_before.
-- Where a scan is all there is, it counts as dear as can be: nothing is compiled for it.
--   rides on   nothing
--   locks      nothing
--   returns    what was set before, and what is set now
SELECT
    set_config(
        'durable.planning',
        concat_ws(
            ' ', current_setting('plan_cache_mode'), current_setting('enable_seqscan'), current_setting('jit')
        ),
        true
    ),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true)
