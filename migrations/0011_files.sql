-- expand

-- Files that clients have uploaded: a name and a purpose for a blob. Expired rows are neither shown nor
-- read, and the keeper deletes them.
CREATE TABLE files (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    blob_id    text COLLATE "C" NOT NULL, -- which the row holds
    filename   text NOT NULL,
    purpose    text NOT NULL,
    bytes      bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint, -- NULL: never
    PRIMARY KEY (project_id, id)
);

-- store_file_list() with a purpose.
CREATE INDEX files_purpose ON files (project_id, purpose, id);

-- The keeper's, so all projects in one.
CREATE INDEX files_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- How many bytes the files of a project have, for the limit: a sum over all files for each upload would
-- cost more with each.
CREATE TABLE storage_use (
    project_id text COLLATE "C" NOT NULL PRIMARY KEY,
    bytes      bigint NOT NULL
);
