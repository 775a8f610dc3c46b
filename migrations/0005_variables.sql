-- What conversations remember by name: see variable.h and variables.h.

CREATE TABLE variables (
    project_id  text COLLATE "C" NOT NULL,
    scope_id    text COLLATE "C" NOT NULL, -- a thread, or a response outside conversations
    name        text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C",          -- that wrote it last; NULL: a client
    type        text COLLATE "C" NOT NULL CONSTRAINT variables_type CHECK (type IN
                    ('ToolCallResult', 'ToolCallArgs', 'MessageCache', 'LLMAdd', 'USER_ADD')),
    removed     boolean NOT NULL, -- hides what an earlier response has under this name
    keep        boolean NOT NULL,
    plain       boolean NOT NULL, -- references in it are not followed, whatever its type
    value       text NOT NULL,
    description text,
    tags        text,             -- JSON array of strings
    length      bigint NOT NULL,  -- of the value, in characters
    bytes       bigint NOT NULL,
    reads       bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    visited_at  bigint NOT NULL,
    PRIMARY KEY (project_id, scope_id, name)
);
