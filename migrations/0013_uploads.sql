-- expand

-- Files that come in parts: see uploads.h. The bytes of a pending one are counted in storage_use from its beginning; those
-- of a completed one are its file's. A row goes some days after its end.
CREATE TABLE uploads (
    project_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    filename     text NOT NULL,
    purpose      text NOT NULL,
    mime         text NOT NULL,   -- as the client said
    bytes        bigint NOT NULL, -- that the parts must have together
    status       text NOT NULL
                 CONSTRAINT uploads_status CHECK (status IN ('pending', 'completed', 'cancelled', 'expired')),
    part_count   integer NOT NULL, -- of the parts that have come
    part_bytes   bigint NOT NULL,
    file_seconds integer,          -- how long the file will live; NULL: until it is deleted
    part_ids     text,             -- JSON: those that the file was made of; only of a completed one
    file_id      text COLLATE "C", -- only of a completed one
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- The keeper's, so all projects in one: what has to end, and what may be forgotten.
CREATE INDEX uploads_pending ON uploads (expires_at) WHERE status = 'pending';
CREATE INDEX uploads_ended ON uploads (expires_at) WHERE status <> 'pending';

-- The parts of pending uploads. Each holds its blob.
CREATE TABLE upload_parts (
    project_id text COLLATE "C" NOT NULL,
    upload_id  text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    blob_id    text COLLATE "C" NOT NULL,
    bytes      bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, upload_id, id)
);
