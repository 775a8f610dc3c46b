-- What a project, or a user within one, says of tools: which are on, and who is asked about them.

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
