-- Projects and their keys.
--
-- project_id comes first in every key: one tenant's rows lie together, and no statement that
-- forgets the tenant finds anything by key. Ids are compared byte by byte (COLLATE "C") and
-- begin with their time, so ORDER BY id is oldest first. Times are microseconds since 1970.
-- JSON that SQL does not look into is text. There are no foreign keys: the functions of
-- core/store delete what belongs together in one transaction, and an insert checks nothing.

CREATE TABLE projects (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    created_at bigint NOT NULL
);

CREATE TABLE api_keys (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE, -- SHA-256 of the key
    prefix     text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (project_id, id)
);
