-- Let no statement of this transaction be planned with a sort, until allow_sorts.
--   rides on   nothing
--   locks      nothing
--   returns    what was set before, and what is set now
SELECT set_config('durable.enable_sort', current_setting('enable_sort'), true), set_config('enable_sort', 'off', true)
