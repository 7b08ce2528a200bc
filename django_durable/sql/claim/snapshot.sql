-- Ask for this statement's snapshot.
--   rides on   nothing
--   locks      nothing
--   returns    one snapshot as text: xmin:xmax:running
SELECT pg_current_snapshot()::text
