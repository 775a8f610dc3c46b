-- Prompt templates, and every version that there was of them.

CREATE TABLE prompts (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    name       text,
    version    integer NOT NULL, -- the newest; an update of it is what numbers the next
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
