-- expand

-- Texts of documents, which are written once and read in small parts. pglz, the default, took more time than all else
-- that makes a document searchable: five times as much as lz4, for some percent less space.

DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT attrelid::regclass AS relation, attname AS name FROM pg_attribute
        WHERE (attrelid, attname) IN (('document_texts'::regclass, 'text'), ('chunks'::regclass, 'text'))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', c.relation, c.name);
    END LOOP;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    RAISE NOTICE 'this server has no lz4; pglz is used';
END
$$;
