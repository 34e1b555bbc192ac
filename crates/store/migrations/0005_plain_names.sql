-- Columns and marks get the names that the REST API uses for them.

ALTER TABLE calls RENAME COLUMN door TO via;
ALTER TABLE calls RENAME COLUMN ran_with TO effective_arguments;
ALTER TABLE calls RENAME COLUMN waiting_us TO user_wait_us;
ALTER TABLE calls RENAME COLUMN key TO idempotency_key;
ALTER TABLE calls RENAME COLUMN key_hash TO idempotency_hash;
ALTER TABLE turns RENAME COLUMN state TO status;
ALTER TABLE turns RENAME COLUMN answers TO user_message_seq;
ALTER TABLE turns RENAME COLUMN finish TO finish_reason;
ALTER TABLE messages RENAME COLUMN cut TO truncated;
ALTER TABLE sessions RENAME COLUMN messages TO message_count;
ALTER TABLE tool_specs RENAME COLUMN approved TO accepted;

-- Truncated texts were stored as {…"cut":true,"kept":K,"of":N,"start":"…"}. The members are replaced as text, because
-- JSON functions would write the other members anew. The replaced text can't occur within the string `start`: there,
-- every quotation mark has a backslash before it.
UPDATE calls SET outcome = replace(outcome,
    '"cut":true,"kept":' || (outcome ->> '$.kept') || ',"of":' || (outcome ->> '$.of') || ',"start":',
    '"truncated":true,"kept_bytes":' || (outcome ->> '$.kept') || ',"total_bytes":' || (outcome ->> '$.of') || ',"preview":')
WHERE instr(substr(outcome, 1, 160), '"cut":true,"kept":') > 0
    -- An envelope has its own fields at the top, and a tool's result below them.
    AND CASE WHEN json_valid(outcome) THEN json_type(outcome, '$.cut') IS 'true'
        AND json_type(outcome, '$.kept') IS 'integer' AND json_type(outcome, '$.of') IS 'integer'
        AND json_type(outcome, '$.start') IS 'text' ELSE 0 END;

-- A caller's own arguments may have such members. Those of a mark have the right numbers as well.
UPDATE calls SET arguments = replace(arguments,
    '{"cut":true,"kept":' || (arguments ->> '$.kept') || ',"of":' || (arguments ->> '$.of') || ',"start":',
    '{"truncated":true,"kept_bytes":' || (arguments ->> '$.kept') || ',"total_bytes":' || (arguments ->> '$.of') || ',"preview":')
WHERE substr(arguments, 1, 19) = '{"cut":true,"kept":'
    AND CASE WHEN json_valid(arguments) THEN json_type(arguments, '$.kept') IS 'integer'
        AND json_type(arguments, '$.of') IS 'integer' AND json_type(arguments, '$.start') IS 'text'
        AND (SELECT count(*) FROM json_each(arguments)) = 4
        AND octet_length(arguments ->> '$.start') = (arguments ->> '$.kept')
        AND (arguments ->> '$.of') > (arguments ->> '$.kept') ELSE 0 END;

UPDATE calls SET effective_arguments = replace(effective_arguments,
    '{"cut":true,"kept":' || (effective_arguments ->> '$.kept') || ',"of":' || (effective_arguments ->> '$.of') || ',"start":',
    '{"truncated":true,"kept_bytes":' || (effective_arguments ->> '$.kept') || ',"total_bytes":' || (effective_arguments ->> '$.of') || ',"preview":')
WHERE substr(effective_arguments, 1, 19) = '{"cut":true,"kept":'
    AND CASE WHEN json_valid(effective_arguments) THEN json_type(effective_arguments, '$.kept') IS 'integer'
        AND json_type(effective_arguments, '$.of') IS 'integer' AND json_type(effective_arguments, '$.start') IS 'text'
        AND (SELECT count(*) FROM json_each(effective_arguments)) = 4
        AND octet_length(effective_arguments ->> '$.start') = (effective_arguments ->> '$.kept')
        AND (effective_arguments ->> '$.of') > (effective_arguments ->> '$.kept') ELSE 0 END;
