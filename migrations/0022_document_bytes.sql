-- expand

-- How many bytes the ready documents of a project have, text and index, each document once: they count for the limit, too.
ALTER TABLE storage_use ADD COLUMN document_bytes bigint NOT NULL DEFAULT 0;

INSERT INTO storage_use AS s (project_id, bytes, document_bytes)
SELECT project_id, 0, sum(usage_bytes) FROM documents WHERE state = 'ready' GROUP BY project_id
ON CONFLICT (project_id) DO UPDATE SET document_bytes = excluded.document_bytes;
