-- expand

-- Checks that are owed. Of a question and a grant that are committed at the same time neither sees the other, so each
-- looks again after its commit (approval_cover.h). The row comes with the commit and goes with the check. What is left
-- here was cut off by a crash or by a lost database, and a keeper makes up for it.
CREATE TABLE approval_checks (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL, -- of the question or of the grant
    run_id     text COLLATE "C",          -- of the question
    -- By the database's clock, as leases: a keeper leaves young ones to those who owe them.
    made_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, id)
);
