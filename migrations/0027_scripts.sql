-- expand

-- Modules that a project brings as tools: see scripts.h. A name is a project's own; writing it again replaces the source.
CREATE TABLE scripts (
    project_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    source      text NOT NULL,
    hash        text COLLATE "C" NOT NULL, -- SHA-256 of the source, hexadecimal
    definition  text NOT NULL,             -- JSON: what a parser has read of the source
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, name)
);
