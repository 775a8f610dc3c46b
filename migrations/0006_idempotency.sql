-- Requests that were repeated under a key of their client's: see core/store/idempotency.h.

CREATE TABLE idempotency_keys (
    project_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL,  -- SHA-256 of the request
    object_id  text COLLATE "C" NOT NULL, -- what it made, or moved
    first_seq  bigint NOT NULL, -- the first event of the run that it caused; 0 where there are none
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, key)
);

-- The keeper's, so all projects in one.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The first event after the tool outputs that were accepted last.
ALTER TABLE runs ADD COLUMN submit_seq bigint;
