-- expand

-- Bytes of any size, each under an id: see blob.h. A row is made before the first byte is kept, so a
-- crash leaves no bytes that no row names. It goes after the last byte is removed.
CREATE TABLE blobs (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    place      text NOT NULL CHECK (place IN ('dir', 'database')), -- where the bytes lie
    home       text COLLATE "C" NOT NULL, -- which directory, by its own id; '' for the database
    bytes      bigint,                    -- NULL: they are still being written
    sha256     bytea,                     -- of all bytes; NULL as long as bytes is
    holders    integer NOT NULL,          -- rows of other tables that name it; -1: it is being removed
    changed_at bigint NOT NULL,           -- when it was last written to, held or let go
    PRIMARY KEY (project_id, id)
);

-- The keeper's, so all projects in one: what may have to be removed.
CREATE INDEX blobs_unheld ON blobs (changed_at) WHERE holders <= 0;

-- The bytes of blobs whose place is the database, 1 MiB each.
CREATE TABLE blob_pages (
    project_id text COLLATE "C" NOT NULL,
    blob_id    text COLLATE "C" NOT NULL,
    n          integer NOT NULL,
    bytes      bytea NOT NULL,
    PRIMARY KEY (project_id, blob_id, n)
);

-- Files are compressed already, or not worth the time. Without compression a piece of a page is read
-- without the rest of it.
ALTER TABLE blob_pages ALTER COLUMN bytes SET STORAGE EXTERNAL;
