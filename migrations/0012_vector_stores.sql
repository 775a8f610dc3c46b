-- expand

-- Vector stores: sets of files that are searched together. The counters are moved by the statement that moves the
-- status of a file, and by no other: see vector_store_sql.h.
CREATE TABLE vector_stores (
    project_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    name           text NOT NULL,
    description    text,
    metadata       text NOT NULL,      -- JSON object
    expires_days   integer,            -- after last_active_at; NULL: never
    expires_at     bigint,             -- NULL: never
    expired        boolean NOT NULL DEFAULT false, -- its files were removed; it is never brought back
    last_active_at bigint NOT NULL,
    usage_bytes    bigint NOT NULL DEFAULT 0,
    in_progress    integer NOT NULL DEFAULT 0,
    completed      integer NOT NULL DEFAULT 0,
    failed         integer NOT NULL DEFAULT 0,
    cancelled      integer NOT NULL DEFAULT 0,
    created_at     bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- The keeper's, so all projects in one.
CREATE INDEX vector_stores_expiry ON vector_stores (expires_at) WHERE expires_at IS NOT NULL AND NOT expired;

-- Files that were attached together. What became of them stands in their rows.
CREATE TABLE file_batches (
    project_id      text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    vector_store_id text COLLATE "C" NOT NULL,
    cancelled       boolean NOT NULL DEFAULT false,
    created_at      bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- Those of a store, which are deleted with it.
CREATE INDEX file_batches_store ON file_batches (project_id, vector_store_id);

-- A file in a store names the document that it is to be searched by, and the one that it is searched by
-- now: NULL before the first is ready, and an older one while a changed chunking is at work.
CREATE TABLE vector_store_files (
    project_id      text COLLATE "C" NOT NULL,
    vector_store_id text COLLATE "C" NOT NULL,
    file_id         text COLLATE "C" NOT NULL,
    document_id     text COLLATE "C" NOT NULL,
    searched_id     text COLLATE "C",
    status          text NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed', 'cancelled')),
    attributes      jsonb NOT NULL,
    chunk_tokens    integer NOT NULL,
    overlap_tokens  integer NOT NULL,
    error_code      text,
    error_message   text,
    usage_bytes     bigint NOT NULL DEFAULT 0,
    batch_id        text COLLATE "C",
    created_at      bigint NOT NULL,
    PRIMARY KEY (project_id, vector_store_id, file_id)
);

-- store_store_file_list(): the order of lists.
CREATE INDEX vector_store_files_list ON vector_store_files (project_id, vector_store_id, created_at, file_id);
-- A file that is deleted, and a document that is ready or is no longer named.
CREATE INDEX vector_store_files_file ON vector_store_files (project_id, file_id);
CREATE INDEX vector_store_files_document ON vector_store_files (project_id, document_id);
CREATE INDEX vector_store_files_searched ON vector_store_files (project_id, searched_id) WHERE searched_id <> document_id;
CREATE INDEX vector_store_files_batch ON vector_store_files (project_id, batch_id) WHERE batch_id IS NOT NULL;

-- A file, read and cut into chunks by a recipe, for all stores that have it so. It is work with an owner, a
-- lease and a fence, as a run is: see documents.h.
CREATE TABLE documents (
    project_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    file_id     text COLLATE "C" NOT NULL,
    recipe      text COLLATE "C" NOT NULL, -- what its chunks depend on besides the file
    state       text NOT NULL CHECK (state IN ('queued', 'parsing', 'ready', 'failed')),
    owner       text COLLATE "C",
    lease_until timestamptz,
    fence       bigint NOT NULL DEFAULT 0,
    attempts    integer NOT NULL DEFAULT 0, -- owners that died with it
    tries       integer NOT NULL DEFAULT 0, -- that failed for a reason outside of the file
    next_try_at bigint NOT NULL,
    queued_at   bigint NOT NULL,
    page_count  integer,
    chunk_count integer,
    usage_bytes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, file_id, recipe)
);

-- Claims: the oldest of each project. Recovery: what has an owner.
CREATE INDEX documents_queued ON documents (project_id, next_try_at, id) WHERE state = 'queued';
CREATE INDEX documents_owned ON documents (project_id, id) WHERE state = 'parsing';

-- What a document says, as its reader has it: a row a page, or a piece of 1 MiB where it has no pages.
CREATE TABLE document_texts (
    project_id  text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    n           integer NOT NULL,
    text        text NOT NULL,
    PRIMARY KEY (project_id, document_id, n)
);

-- What a search finds.
CREATE TABLE chunks (
    project_id  text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    n           integer NOT NULL,
    page        integer NOT NULL, -- 0: the document has no pages
    heading     text NOT NULL,
    text        text NOT NULL,
    PRIMARY KEY (project_id, document_id, n)
);

-- The index of a document: bytes of core/retrieval, in pieces of 1 MiB.
CREATE TABLE document_segments (
    project_id  text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    n           integer NOT NULL,
    bytes       bytea NOT NULL,
    PRIMARY KEY (project_id, document_id, n)
);

ALTER TABLE document_segments ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Documents that a row has stopped to name. The sweep looks whether another row names them. A mark beside the
-- document would have to lock it, behind stores, which are locked behind documents.
CREATE TABLE left_documents (
    project_id  text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    left_at     bigint NOT NULL,
    PRIMARY KEY (project_id, document_id)
);

-- The keeper's, so all projects in one.
CREATE INDEX left_documents_age ON left_documents (left_at);
