-- Projects, assistants, threads, runs with their items, and the log of their events.
--
-- project_id comes first in every key: one tenant's rows lie together, and no statement that
-- forgets the tenant finds anything by key. Ids are compared byte by byte (COLLATE "C") and
-- begin with their time, so ORDER BY id is oldest first. Times are microseconds since 1970.
-- JSON that SQL does not look into is text. There are no foreign keys: the functions of
-- core/store delete what belongs together in one transaction, and an insert checks nothing.

CREATE TABLE projects (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    created_at bigint NOT NULL
);

CREATE TABLE api_keys (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL CONSTRAINT api_keys_hash UNIQUE, -- SHA-256 of the key
    prefix     text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint,
    PRIMARY KEY (project_id, id)
);

CREATE TABLE assistants (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    body       text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- A thread and a conversation are the same thing.
CREATE TABLE threads (
    project_id     text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    metadata       text,
    tool_resources text,
    created_at     bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

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
    PRIMARY KEY (project_id, id)
);

CREATE INDEX runs_thread ON runs (project_id, thread_id, id) WHERE thread_id IS NOT NULL;

-- A thread has at most one run that is not final.
CREATE UNIQUE INDEX runs_active ON runs (project_id, thread_id)
    WHERE thread_id IS NOT NULL
      AND status IN ('queued', 'in_progress', 'requires_action', 'cancelling');

-- Who may act for a run that is not final. Narrow and often updated: half-empty pages let a
-- heartbeat stay on its page (HOT), for which lease_until and the numbers must not be indexed.
--   owned:   owner is set, until lease_until
--   free:    no owner, no wait_until: whoever comes first
--   waiting: no owner, wait_until: for the client's tool outputs, at most so long
CREATE TABLE run_leases (
    project_id  text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    owner       text COLLATE "C",     -- node_x/boot_y
    fence       bigint NOT NULL,      -- grows with every change of hands
    lease_until timestamptz NOT NULL,
    wait_until  bigint,
    foreground  boolean NOT NULL,     -- somebody waits for it on its node: not taken over
    queued_at   bigint NOT NULL,      -- the run's created_at
    last_seq    bigint NOT NULL,      -- at least so far goes the log; -1: nothing in it yet
    state_seq   bigint NOT NULL,      -- the last one when items, steps or status were stored
    PRIMARY KEY (project_id, run_id),
    CHECK (owner IS NULL OR wait_until IS NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX run_leases_owner ON run_leases (owner, run_id) WHERE owner IS NOT NULL;
CREATE INDEX run_leases_free ON run_leases (queued_at, run_id)
    WHERE owner IS NULL AND wait_until IS NULL;
CREATE INDEX run_leases_waiting ON run_leases (wait_until) WHERE wait_until IS NOT NULL;

-- One row per message, call, output, reasoning ...; everything else is a view of these.
CREATE TABLE items (
    project_id   text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    run_id       text COLLATE "C", -- NULL: a message that a client put into a thread
    thread_id    text COLLATE "C",
    step_id      text COLLATE "C",
    assistant_id text COLLATE "C",
    position     bigint NOT NULL,  -- within the thread, or within the run outside threads
    input        boolean NOT NULL,
    hidden       boolean NOT NULL,
    turn         integer NOT NULL,
    model_index  integer NOT NULL,
    status       text COLLATE "C" NOT NULL CONSTRAINT items_status CHECK (status IN
                     ('in_progress', 'completed', 'incomplete', 'failed')),
    type         text COLLATE "C" NOT NULL,
    role         text COLLATE "C",
    call_id      text COLLATE "C",
    body         text,
    metadata     text,
    created_at   bigint NOT NULL,
    completed_at bigint,
    PRIMARY KEY (project_id, id)
);

CREATE INDEX items_thread ON items (project_id, thread_id, position)
    WHERE thread_id IS NOT NULL;
CREATE INDEX items_run ON items (project_id, run_id, position) WHERE run_id IS NOT NULL;

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
    project_id text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    turn       integer NOT NULL,
    call_id    text COLLATE "C" NOT NULL,
    item_id    text COLLATE "C",
    step_id    text COLLATE "C",
    position   integer NOT NULL, -- in the model's order within the turn
    client     boolean NOT NULL,
    state      text COLLATE "C" NOT NULL CONSTRAINT tool_calls_state CHECK (state IN
                   ('waiting', 'running', 'done', 'interrupted')),
    tool       text,
    arguments  text,
    output     text,
    attempts   integer NOT NULL,
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

-- Which servers there are or were, for people; nothing is decided by it.
CREATE TABLE nodes (
    id         text COLLATE "C" PRIMARY KEY,
    boot       text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL
);

-- lz4 halves the cost of long texts where the server was built with it.
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT attrelid::regclass AS relation, attname AS name FROM pg_attribute
        WHERE (attrelid, attname) IN (
            ('assistants'::regclass, 'body'), ('items'::regclass, 'body'),
            ('runs'::regclass, 'config'), ('runs'::regclass, 'required_action'),
            ('tool_calls'::regclass, 'arguments'), ('tool_calls'::regclass, 'output'),
            ('run_events'::regclass, 'bytes'), ('run_events_default'::regclass, 'bytes'))
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', c.relation, c.name);
    END LOOP;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
    RAISE NOTICE 'this server has no lz4; pglz is used';
END
$$;
