-- expand

-- Containers: see container_status.h. The row is made before its folder, and the folder goes after the row has ended.
CREATE TABLE containers (
    project_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    name           text NOT NULL,
    status         text NOT NULL
                   CONSTRAINT containers_status CHECK (status IN ('running', 'expired', 'deleted')),
    owner_id       text COLLATE "C", -- the thread or response that it was made for; NULL: a client made it
    node_id        text COLLATE "C" NOT NULL, -- the node, without its boot, on whose disk the folder is
    has_folder     boolean NOT NULL, -- false once that node has removed it
    memory_gib     integer NOT NULL,
    had_python     boolean NOT NULL, -- Python has run in it, so that its variables may be missed
    idle_seconds   bigint NOT NULL, -- without a use, until it expires
    created_at     bigint NOT NULL,
    last_active_at bigint NOT NULL,
    expires_at     bigint NOT NULL, -- last_active_at and idle_seconds; of one that has ended, when it did
    PRIMARY KEY (project_id, id)
);

-- How many a project has, and which one belongs to a thread or a response: one at a time.
CREATE INDEX containers_running ON containers (project_id, expires_at) WHERE status = 'running';
CREATE UNIQUE INDEX containers_owner ON containers (project_id, owner_id) WHERE status = 'running' AND owner_id IS NOT NULL;

-- The keeper's, so all projects in one: what has to expire, what a node has to remove, what may be forgotten.
CREATE INDEX containers_expiry ON containers (expires_at) WHERE status = 'running';
CREATE INDEX containers_left ON containers (node_id) WHERE status <> 'running' AND has_folder;
CREATE INDEX containers_ended ON containers (expires_at) WHERE status <> 'running';

-- The files in the folders of running containers, as they were when the folder was last looked at.
CREATE TABLE container_files (
    project_id   text COLLATE "C" NOT NULL,
    container_id text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    path         text COLLATE "C" NOT NULL, -- below /mnt/data
    bytes        bigint NOT NULL,
    modified_ns  bigint NOT NULL, -- by these three a change is seen
    inode        bigint NOT NULL,
    source       text NOT NULL CHECK (source IN ('user', 'assistant')),
    origin_id    text COLLATE "C", -- the file of the Files API that it was copied from; NULL: none
    call_id      text COLLATE "C", -- the call that made or changed it last; NULL: none
    blob_id      text COLLATE "C", -- a copy of its present bytes, which the row holds; NULL: no copy
    created_at   bigint NOT NULL,
    PRIMARY KEY (project_id, container_id, id)
);

CREATE UNIQUE INDEX container_files_path ON container_files (project_id, container_id, path);
