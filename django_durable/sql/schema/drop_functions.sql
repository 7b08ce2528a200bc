-- Undo create_functions.
--   rides on   nothing
--   locks      the functions
--   returns    nothing
DROP FUNCTION IF EXISTS durable_send(text, json, text, text);
DROP FUNCTION IF EXISTS durable_enqueue(
    text, text, json, json, text, int, interval, text, text, text, interval, int, text, jsonb
);
DROP FUNCTION IF EXISTS durable_check_identifier(text, text)
