-- Questions whether a tool may run, and what was answered. A row is made by the run whose model
-- called the tool; who answers moves `status` from pending, once. Arguments are as they were when
-- it was asked, and are what is executed.
CREATE TABLE approvals (
    project_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL, -- mcpr_..., the item that shows the question
    run_id       text COLLATE "C" NOT NULL,
    thread_id    text COLLATE "C",
    call_id      text COLLATE "C" NOT NULL,
    server_label text COLLATE "C" NOT NULL,
    tool         text COLLATE "C" NOT NULL,
    arguments    text NOT NULL,
    policy       text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL CONSTRAINT approvals_status CHECK (status IN
                     ('pending', 'approved', 'rejected')),
    reason       text,
    used_by      text COLLATE "C", -- the response that has taken the answer up
    created_at   bigint NOT NULL,
    decided_at   bigint,
    PRIMARY KEY (project_id, id)
);

CREATE INDEX approvals_run ON approvals (project_id, run_id);
CREATE INDEX approvals_thread ON approvals (project_id, thread_id)
    WHERE thread_id IS NOT NULL AND used_by IS NULL;
CREATE INDEX approvals_used ON approvals (project_id, used_by) WHERE used_by IS NOT NULL;
