-- Set again for this transaction what forbid_sorts found.
--   rides on   nothing
--   locks      nothing
--   returns    what is set now
SELECT set_config('enable_sort', current_setting('durable.enable_sort'), true)
