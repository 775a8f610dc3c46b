-- What all servers of a database know and nobody else: the key that seals what clients carry.
-- Losing a row makes what was sealed with it worthless, and nothing else.

CREATE TABLE secrets (
    name  text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);
