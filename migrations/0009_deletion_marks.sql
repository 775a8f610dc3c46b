-- expand

-- Where a deleted object stood in its list. A client that deletes while it pages names it as a cursor.
-- Kept for a day: see deletion_marks.h.
CREATE TABLE deletion_marks (
    project_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL, -- the id of the list's thread, or its name
    id         text COLLATE "C" NOT NULL,
    place      bigint NOT NULL,           -- what the list is sorted by: a position or a time
    deleted_at bigint NOT NULL,
    PRIMARY KEY (project_id, list, id)
);

-- The keeper's, so all projects in one.
CREATE INDEX deletion_marks_age ON deletion_marks (deleted_at);
