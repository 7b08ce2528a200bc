-- Set again for this transaction what forbid_sorts found; nothing, if that was in another transaction.
--   rides on   nothing
--   locks      nothing
--   returns    what is set now
SELECT set_config(
    'enable_sort',
    coalesce(nullif(current_setting('durable.enable_sort', true), ''), current_setting('enable_sort')),
    true
)
