-- Hear when something is put in line.
--   rides on   nothing
--   locks      the notice queue, briefly
--   returns    nothing
LISTEN durable_line
