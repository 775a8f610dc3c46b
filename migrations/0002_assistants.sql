-- What a project prepares for its runs: assistants, prompt templates, skills and tool settings.

CREATE TABLE assistants (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    body       text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- Imported assistants keep their ids, which do not begin with their time. So store_assistant_list()
-- orders by age.
CREATE INDEX assistants_age ON assistants (project_id, created_at, id);

-- Prompt templates, and every version of them.
CREATE TABLE prompts (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    name       text,
    version    integer NOT NULL, -- the newest; the statement that makes a version counts it up
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);

CREATE TABLE prompt_versions (
    project_id text COLLATE "C" NOT NULL,
    prompt_id  text COLLATE "C" NOT NULL,
    version    integer NOT NULL,
    body       text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (project_id, prompt_id, version)
);

-- Instructions for one kind of task, which models read when they need them.
CREATE TABLE skills (
    project_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    description text NOT NULL,
    content     text NOT NULL,    -- of SKILL.md, whole
    prompt_at   integer NOT NULL, -- the byte where the instructions begin, after the front matter
    created_at  bigint NOT NULL,
    files       text,             -- the folder's other files: JSON, from path to text; NULL: none
    PRIMARY KEY (project_id, id)
);

-- Which tools are on and which need approval, for a project or for one user of it.
CREATE TABLE tool_settings (
    project_id  text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL, -- as requests name them; '': the project's own
    id          text COLLATE "C" NOT NULL,
    tool_groups text NOT NULL,             -- JSON, as in a request's object `runnel`
    permissions text NOT NULL,             -- JSON, by "group/tool" or "group"
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    PRIMARY KEY (project_id, user_id)
);

CREATE UNIQUE INDEX tool_settings_list ON tool_settings (project_id, id);
