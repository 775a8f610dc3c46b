-- Answers to approvals that are remembered, and what they are remembered by: see core/store/grants.h.

-- SHA-256 of the tool's definition when it was asked, and what an answer may be remembered by: a
-- JSON object of core/run/grant.h, or NULL.
ALTER TABLE approvals ADD COLUMN definition text COLLATE "C";
ALTER TABLE approvals ADD COLUMN memory text;

CREATE TABLE approval_grants (
    project_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL, -- grant_...
    scope       text COLLATE "C" NOT NULL CONSTRAINT approval_grants_scope CHECK (scope IN
                    ('run', 'thread', 'assistant', 'user')),
    scope_id    text COLLATE "C" NOT NULL, -- of a thread: the thread, or a response outside
    tool        text COLLATE "C" NOT NULL, -- "group/tool", or "server label/tool"
    match       text COLLATE "C" NOT NULL CONSTRAINT approval_grants_match CHECK (match IN
                    ('exact', 'tool', 'pattern')),
    match_key   text COLLATE "C" NOT NULL, -- exact: hash of the arguments; pattern: the pattern
    type        text COLLATE "C" NOT NULL, -- of permission, for a pattern; else ''
    definition  text COLLATE "C" NOT NULL,
    approve     boolean NOT NULL,
    said        boolean NOT NULL, -- whoever answered asked for it; false: it goes without saying
    reason      text,
    approval_id text COLLATE "C" NOT NULL, -- the question that was answered
    created_at  bigint NOT NULL,
    expires_at  bigint,
    PRIMARY KEY (project_id, id),
    CONSTRAINT approval_grants_one UNIQUE
        (project_id, scope, scope_id, tool, match, match_key, type)
);
