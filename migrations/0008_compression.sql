-- lz4 halves the cost of long texts where the server was built with it.

DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT attrelid::regclass AS relation, attname AS name FROM pg_attribute
        WHERE (attrelid, attname) IN (
            ('assistants'::regclass, 'body'), ('items'::regclass, 'body'),
            ('runs'::regclass, 'config'), ('runs'::regclass, 'required_action'),
            ('tool_calls'::regclass, 'arguments'), ('tool_calls'::regclass, 'output'),
            ('tool_calls'::regclass, 'resolved_arguments'), ('variables'::regclass, 'value'),
            ('run_events'::regclass, 'bytes'), ('run_events_default'::regclass, 'bytes'))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', c.relation, c.name);
    END LOOP;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    RAISE NOTICE 'this server has no lz4; pglz is used';
END
$$;
