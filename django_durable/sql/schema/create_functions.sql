-- Doors for triggers and for programs in other languages: they enqueue and send in their own transaction.
-- A delay is so many seconds: days put on an instant would follow the clocks of the session's time zone.
--   rides on   durable_workflow_status_pkey, durable_deduplication, durable_message_once
--   locks      the rows they insert; durable_send its receiver FOR KEY SHARE, and the row if it waits
--   returns    durable_enqueue the id of the run; durable_send whether the message is new
CREATE OR REPLACE FUNCTION durable_check_identifier(kind text, value text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL OR btrim(value) = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = kind || ' must not be empty';
    ELSIF value !~ ('[^[:space:][:cntrl:]\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u1680\u17b4'
        '\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff'
        '\uffa0\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef]') THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = kind || ' must hold something visible';
    ELSIF octet_length(value) > 255 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = kind || ' takes ' || octet_length(value) || ' bytes, and 255 is the limit';
    ELSIF value ~ '[[:cntrl:]]' OR value ~ '^\s' OR value ~ '\s$' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = kind || ' must not hold control characters, nor begin or end with white space';
    END IF;
END
$$;
CREATE OR REPLACE FUNCTION durable_enqueue(
    name text, queue text DEFAULT 'default', args json DEFAULT '[]', kwargs json DEFAULT '{}', id text DEFAULT NULL,
    priority int DEFAULT 0, delay interval DEFAULT NULL, partition_key text DEFAULT NULL, limit_key text DEFAULT NULL,
    deduplication_id text DEFAULT NULL, timeout interval DEFAULT NULL, max_attempts int DEFAULT 1,
    app_version text DEFAULT NULL, attributes jsonb DEFAULT '{}'
) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    given ALIAS FOR $5;
    new_id text := coalesce(given, gen_random_uuid()::text);
    due timestamptz := statement_timestamp() + make_interval(secs => extract(epoch FROM delay)::float8);
    place bigint;
    found_name text;
BEGIN
    PERFORM durable_check_identifier('workflow name', $1);
    PERFORM durable_check_identifier('queue name', $2);
    PERFORM durable_check_identifier('workflow id', new_id);
    PERFORM durable_check_identifier(optional.kind, optional.value)
    FROM (VALUES ('partition_key', $8), ('limit_key', $9), ('deduplication_id', $10), ('app version', $13))
        AS optional (kind, value)
    WHERE optional.value IS NOT NULL;
    IF $3 IS NULL OR json_typeof($3) <> 'array' OR $4 IS NULL OR json_typeof($4) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'args must be a JSON array and kwargs a JSON object';
    ELSIF $6 IS NULL OR $6 NOT BETWEEN -100 AND 100 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'priority must lie between -100 and 100';
    ELSIF $12 IS NULL OR $12 < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'max_attempts must be above 0';
    ELSIF $14 IS NULL OR jsonb_typeof($14) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'attributes must be a JSON object';
    END IF;
    IF due IS NULL OR due <= statement_timestamp() THEN
        place := nextval('durable_line_seq');
    END IF;
    INSERT INTO durable_workflow_status (
        id, name, status, queue, priority, seq, line, group_line, enqueued_xid, arrival, partition_key, limit_key,
        deduplication_id, app_version, attempt, max_attempts, claims, created_at, updated_at, delay_until, timeout,
        input, serialization, attributes, headers, awaited
    ) VALUES (
        new_id, $1, CASE WHEN place IS NULL THEN 'DELAYED' ELSE 'ENQUEUED' END, $2, $6, place, place, place,
        CASE WHEN place IS NOT NULL THEN pg_current_xact_id() END,
        CASE WHEN place IS NOT NULL THEN nextval('durable_arrival_seq') END,
        $8, $9, $10, $13, 0, $12, 0, statement_timestamp(), statement_timestamp(),
        CASE WHEN place IS NULL THEN due END, $11,
        '{"args": ' || $3::text || ', "kwargs": ' || $4::text || '}', 'json', $14, '{}', false
    )
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM pg_notify('durable_line', '');
        RETURN new_id;
    END IF;
    SELECT w.name INTO found_name FROM durable_workflow_status AS w WHERE w.id = new_id;
    IF found_name = $1 THEN
        RETURN new_id;
    ELSIF found_name IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation',
            MESSAGE = 'workflow id ' || new_id || ' already belongs to a run of ' || found_name;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'unique_violation',
        MESSAGE = 'queue ' || $2 || ' already has an active workflow with deduplication_id ' || coalesce($10, '');
END
$$;
CREATE OR REPLACE FUNCTION durable_send(
    workflow_id text, message json, topic text DEFAULT '', idempotency_key text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    sent boolean;
BEGIN
    PERFORM FROM durable_workflow_status AS w WHERE w.id = $1 FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = 'no workflow has the id ' || coalesce($1, 'null');
    ELSIF $2 IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the message must be JSON';
    END IF;
    INSERT INTO durable_message (workflow_id, topic, payload, serialization, idempotency_key, sent_at)
    VALUES ($1, coalesce($3, ''), $2::text, 'json', $4, clock_timestamp())
    ON CONFLICT DO NOTHING;
    sent := FOUND;
    UPDATE durable_workflow_status AS w
    SET wake_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE sent AND w.id = $1 AND w.status = 'WAITING' AND w.wait_topic IN ('message ' || coalesce($3, ''), 'any');
    IF FOUND THEN
        PERFORM pg_notify('durable_line', '');
    END IF;
    RETURN sent;
END
$$
