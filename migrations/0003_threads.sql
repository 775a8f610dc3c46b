-- Threads and the items in them.

-- A thread and a conversation are the same thing.
CREATE TABLE threads (
    project_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    metadata       text,
    tool_resources text,
    created_at     bigint NOT NULL,
    settings       text, -- the object `runnel`, for runs that do not override it; NULL: none
    PRIMARY KEY (project_id, id)
);

-- One row per message, call, output, reasoning ...; everything else is a view of these.
CREATE TABLE items (
    project_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C", -- NULL: a message that a client put into a thread
    thread_id     text COLLATE "C",
    step_id       text COLLATE "C",
    assistant_id  text COLLATE "C",
    position      bigint NOT NULL,  -- within the thread, or within the run outside threads
    input         boolean NOT NULL,
    hidden        boolean NOT NULL,
    turn          integer NOT NULL,
    model_index   integer NOT NULL,
    status        text COLLATE "C" NOT NULL CONSTRAINT items_status CHECK (status IN
                      ('in_progress', 'completed', 'incomplete', 'failed')),
    type          text COLLATE "C" NOT NULL,
    role          text COLLATE "C",
    call_id       text COLLATE "C",
    body          text,
    metadata      text,
    created_at    bigint NOT NULL,
    completed_at  bigint,
    -- The item that a copy was made from, so that merging a thread twice changes nothing.
    origin_id     text COLLATE "C",
    -- Where its thread ended when the item was deleted: responses that begin before that have
    -- read it (deleted.h).
    left_position bigint,
    PRIMARY KEY (project_id, id)
);

CREATE INDEX items_thread ON items (project_id, thread_id, position)
    WHERE thread_id IS NOT NULL;
CREATE INDEX items_run ON items (project_id, run_id, position) WHERE run_id IS NOT NULL;
