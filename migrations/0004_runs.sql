-- Runs: their leases, steps, tool calls, and the log of their events.

-- A run and a response are the same thing, seen through two faces.
CREATE TABLE runs (
    project_id       text COLLATE "C" NOT NULL,
    id               text COLLATE "C" NOT NULL,
    thread_id        text COLLATE "C",
    assistant_id     text COLLATE "C",
    parent_run_id    text COLLATE "C", -- previous_response_id
    face             text NOT NULL CHECK (face IN ('assistants', 'responses')),
    flags            integer NOT NULL, -- enum run_flags
    status           text COLLATE "C" NOT NULL CONSTRAINT runs_status CHECK (status IN
                         ('queued', 'in_progress', 'requires_action', 'cancelling', 'cancelled',
                          'completed', 'incomplete', 'failed', 'expired')),
    cancel_requested boolean NOT NULL,
    turn             integer NOT NULL,
    attempts         integer NOT NULL, -- times it was taken up after a crash
    config           text,
    metadata         text,
    required_action  text,
    usage            text,
    error            text,
    incomplete       text,
    submit_hash      bytea, -- of the tool outputs that were accepted last
    created_at       bigint NOT NULL,
    started_at       bigint,
    expires_at       bigint,
    completed_at     bigint,
    failed_at        bigint,
    cancelled_at     bigint,
    incomplete_at    bigint,
    -- A deleted response is kept for the responses that continue it (deleted.h).
    deleted_at       bigint,
    purge_at         bigint,
    submit_seq       bigint, -- the first event after the tool outputs that were accepted last
    PRIMARY KEY (project_id, id)
);

CREATE INDEX runs_thread ON runs (project_id, thread_id, id) WHERE thread_id IS NOT NULL;

-- A thread has at most one run that is not final.
CREATE UNIQUE INDEX runs_active ON runs (project_id, thread_id)
    WHERE thread_id IS NOT NULL
      AND status IN ('queued', 'in_progress', 'requires_action', 'cancelling');

-- Whether another response continues this one: read before a purge.
CREATE INDEX runs_parent ON runs (project_id, parent_run_id) WHERE parent_run_id IS NOT NULL;

-- The keeper's, so all projects in one.
CREATE INDEX runs_purge ON runs (purge_at) WHERE purge_at IS NOT NULL;

-- Which node may act for a run that is not final. Narrow and often updated: half-empty pages let a
-- heartbeat stay on its page (HOT), for which lease_until and the numbers must not be indexed.
--   owned:   owner is set, until lease_until
--   free:    no owner, no wait_until: the first node that claims it
--   waiting: no owner, wait_until: for the client's tool outputs, at most so long
CREATE TABLE run_leases (
    project_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    owner       text COLLATE "C",     -- node_x/boot_y
    fence       bigint NOT NULL,      -- grows with every change of hands
    lease_until timestamptz NOT NULL,
    wait_until  bigint,
    foreground  boolean NOT NULL,     -- a request on its node waits for it: not taken over
    queued_at   bigint NOT NULL,      -- the run's created_at
    last_seq    bigint NOT NULL,      -- the log goes at least so far; -1: it is empty
    state_seq   bigint NOT NULL,      -- the last one when items, steps or status were stored
    -- A client has asked to stop the run. Writers of the run hold this row and need not read runs.
    stopping    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (project_id, run_id),
    CHECK (owner IS NULL OR wait_until IS NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX run_leases_owner ON run_leases (owner, run_id) WHERE owner IS NOT NULL;
CREATE INDEX run_leases_free ON run_leases (queued_at, run_id)
    WHERE owner IS NULL AND wait_until IS NULL;
CREATE INDEX run_leases_waiting ON run_leases (wait_until) WHERE wait_until IS NOT NULL;

CREATE TABLE run_steps (
    project_id   text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    thread_id    text COLLATE "C",
    assistant_id text COLLATE "C",
    type         text COLLATE "C" NOT NULL CHECK (type IN ('message_creation', 'tool_calls')),
    status       text COLLATE "C" NOT NULL CONSTRAINT run_steps_status CHECK (status IN
                     ('in_progress', 'completed', 'failed', 'cancelled', 'expired')),
    turn         integer NOT NULL,
    usage        text,
    error        text,
    created_at   bigint NOT NULL,
    completed_at bigint,
    ended_at     bigint,
    PRIMARY KEY (project_id, run_id, id)
);

-- Models have been seen to use the same call id again in a later turn.
CREATE TABLE tool_calls (
    project_id         text COLLATE "C" NOT NULL,
    run_id             text COLLATE "C" NOT NULL,
    turn               integer NOT NULL,
    call_id            text COLLATE "C" NOT NULL,
    item_id            text COLLATE "C",
    step_id            text COLLATE "C",
    position           integer NOT NULL, -- in the model's order within the turn
    client             boolean NOT NULL,
    state              text COLLATE "C" NOT NULL CONSTRAINT tool_calls_state CHECK (state IN
                           ('waiting', 'running', 'done', 'interrupted')),
    tool               text,
    arguments          text,
    output             text,
    attempts           integer NOT NULL,
    resolved_arguments text, -- with the values of variables instead of references; NULL: no references
    -- JSON (item.h): what the upstream attached to the call and wants back with it, and the
    -- upstream's name.
    extra_content      text,
    PRIMARY KEY (project_id, run_id, turn, call_id)
);

-- The events of resumable runs, as the frames that were sent, many to a row. All of a run lie
-- in the partition of the day on which it was made; a partition past retention is dropped whole.
-- The default partition takes what comes too early or too late for one of its own.
CREATE TABLE run_events (
    project_id     text COLLATE "C" NOT NULL,
    run_id         text COLLATE "C" NOT NULL,
    first_seq      bigint NOT NULL,
    last_seq       bigint NOT NULL,
    run_created_at bigint NOT NULL,
    bytes          bytea NOT NULL,
    PRIMARY KEY (project_id, run_id, first_seq, run_created_at)
) PARTITION BY RANGE (run_created_at);

CREATE TABLE run_events_default PARTITION OF run_events DEFAULT;
