-- expand

-- A container that its node gives away takes its whole workspace along, as one archive (workspace_archive.h). The row
-- holds the blob from the moment of the move until the files are in the new node's folder.
CREATE TABLE container_archives (
    project_id   text COLLATE "C" NOT NULL,
    container_id text COLLATE "C" NOT NULL,
    blob_id      text COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, container_id)
);

ALTER TABLE containers ADD COLUMN giving_until bigint; -- its node is about to give it away: who asks waits so long

-- The node is going down: no run is made for it any more, and what waits for it goes elsewhere.
ALTER TABLE nodes ADD COLUMN draining boolean NOT NULL DEFAULT false;
