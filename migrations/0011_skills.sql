-- Skills: instructions for one kind of task, which models read when they need them.

CREATE TABLE skills (
    project_id  text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    description text NOT NULL,
    content     text NOT NULL,    -- of SKILL.md, whole
    prompt_at   integer NOT NULL, -- the byte of it where the instructions begin, behind the front matter
    created_at  bigint NOT NULL,
    PRIMARY KEY (project_id, id)
);
