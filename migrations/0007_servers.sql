-- What all servers of a database share: each other, a sealing key, and the requests that were answered.

-- Which servers there are or were, for people; nothing is decided by it.
CREATE TABLE nodes (
    id         text COLLATE "C" PRIMARY KEY,
    boot       text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL
);

-- The key that seals what clients carry. Losing a row makes what was sealed with it worthless, and
-- nothing else.
CREATE TABLE secrets (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

-- Requests that carried a key of their client's and may be repeated: see idempotency.h.
CREATE TABLE idempotency_keys (
    project_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL,  -- SHA-256 of the request
    object_id  text COLLATE "C" NOT NULL, -- what it made, or moved
    first_seq  bigint NOT NULL, -- the first event of the run that it caused; 0: no events
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, key)
);

-- The keeper's, so all projects in one.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
