-- Approvals, and the answers that count for later calls too.

-- A question whether a tool may run, and its answer. The run whose model called the tool makes the
-- row; an answer moves `status` from pending, once. Arguments are as they were when the question
-- was made, and are what is executed.
--   execution:  may this call run?
--   result:     may the model see what the tool returned?
--   permission: may the tool do what it plans to do?
CREATE TABLE approvals (
    project_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL, -- mcpr_..., the item that shows the question
    run_id        text COLLATE "C" NOT NULL,
    thread_id     text COLLATE "C",
    call_id       text COLLATE "C" NOT NULL,
    server_label  text COLLATE "C" NOT NULL,
    tool          text COLLATE "C" NOT NULL,
    arguments     text NOT NULL,
    policy        text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL CONSTRAINT approvals_status CHECK (status IN
                      ('pending', 'approved', 'rejected')),
    reason        text,
    used_by       text COLLATE "C", -- the response that has taken the answer up
    created_at    bigint NOT NULL,
    decided_at    bigint,
    kind          text COLLATE "C" NOT NULL DEFAULT 'execution'
                      CONSTRAINT approvals_kind CHECK (kind IN
                          ('execution', 'result', 'permission')),
    details       text, -- what the question shows beside the call, or what the tool plans: JSON
    -- What an approval changes: the item that the model may then see, and the variable that it
    -- makes: JSON. Removed with the decision.
    held          text,
    definition    text COLLATE "C", -- SHA-256 of the tool's definition when the question was made
    memory        text, -- what an answer may be remembered by: JSON of grant.h, or NULL
    -- As in tool_calls: the response that answers makes the call that its predecessor asked about.
    extra_content text,
    PRIMARY KEY (project_id, id)
);

CREATE INDEX approvals_run ON approvals (project_id, run_id);
CREATE INDEX approvals_thread ON approvals (project_id, thread_id)
    WHERE thread_id IS NOT NULL AND used_by IS NULL;
CREATE INDEX approvals_used ON approvals (project_id, used_by) WHERE used_by IS NOT NULL;

-- An answer that is remembered by patterns answers other pending questions; this finds them.
CREATE INDEX approvals_pending_permissions ON approvals (project_id, definition)
    WHERE status = 'pending' AND kind = 'permission';

-- Answers to approvals that are remembered, and what they are remembered by: see grants.h.
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
    said        boolean NOT NULL, -- the answer asked to be remembered; false: by the server's rule
    reason      text,
    approval_id text COLLATE "C" NOT NULL, -- the question that was answered
    created_at  bigint NOT NULL,
    expires_at  bigint,
    PRIMARY KEY (project_id, id),
    CONSTRAINT approval_grants_one UNIQUE
        (project_id, scope, scope_id, tool, match, match_key, type)
);
