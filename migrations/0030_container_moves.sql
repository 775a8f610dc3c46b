-- expand

-- Containers that go from one node to another. The epoch grows with each move, and what an earlier owner still writes
-- carries the old one.
ALTER TABLE containers ADD COLUMN epoch bigint NOT NULL DEFAULT 1;
ALTER TABLE containers ADD COLUMN arriving boolean NOT NULL DEFAULT false; -- its files are not all in the node's folder yet
ALTER TABLE containers ADD COLUMN left_node text COLLATE "C";              -- the node before, until its folder is gone
ALTER TABLE containers ADD COLUMN lost text;                               -- paths that the move has lost, as JSON; NULL: none
ALTER TABLE containers ADD COLUMN wanted_by text COLLATE "C";              -- the node that asks the owner for it
ALTER TABLE containers ADD COLUMN wanted_at bigint;
ALTER TABLE container_files ADD COLUMN copy_wanted_at bigint; -- another node asks the owner for a copy

-- What a node has to look at: it was asked, or has a folder that it does not need.
CREATE INDEX containers_wanted ON containers (node_id) WHERE wanted_by IS NOT NULL;
CREATE INDEX containers_moved ON containers (left_node) WHERE left_node IS NOT NULL;
CREATE INDEX container_files_wanted ON container_files (project_id, container_id) WHERE copy_wanted_at IS NOT NULL;
