-- expand

-- When a document of the project was claimed last, by any node, in microseconds. Projects with equally many documents at
-- work take turns by it, so one that has attached a library does not hold up one with a page.
CREATE TABLE ingest_turns (
    project_id text COLLATE "C" PRIMARY KEY,
    turn       bigint NOT NULL
);
