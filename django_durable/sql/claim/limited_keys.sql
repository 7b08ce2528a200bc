-- Name some keys that have a limit.
--   rides on   nothing: the first rows of the table
--   locks      nothing
--   returns    keys; fewer than asked for: these are all
SELECT l.key FROM durable_limit AS l LIMIT %(most)s
