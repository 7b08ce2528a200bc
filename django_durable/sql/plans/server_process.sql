-- Ask for the number of the server's process that answers.
--   rides on   nothing
--   locks      nothing
--   returns    the number
SELECT pg_backend_pid()
