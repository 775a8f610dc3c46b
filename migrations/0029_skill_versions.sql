-- expand
--
-- Skills that clients upload have versions (skills.h). A row of `skills` is what all of them share. The columns
-- content, prompt_at and files there are those of version 1, as the release before has them; this one reads
-- `skill_versions` only.

ALTER TABLE skills
    ADD COLUMN default_version integer NOT NULL DEFAULT 1, -- the one that is used where none is named
    ADD COLUMN latest_version  integer NOT NULL DEFAULT 1; -- the highest number that was given; none is given twice

CREATE TABLE skill_versions (
    project_id  text COLLATE "C" NOT NULL,
    skill_id    text COLLATE "C" NOT NULL,
    version     integer NOT NULL,
    id          text COLLATE "C" NOT NULL,
    description text NOT NULL,
    content     text NOT NULL,    -- of SKILL.md, whole
    prompt_at   integer NOT NULL, -- the byte where the instructions begin, after the front matter
    files       text,             -- the other files: JSON, from path to text or {"base64"}; NULL: none
    created_at  bigint NOT NULL,
    PRIMARY KEY (project_id, skill_id, version)
);
-- A run knows the id of the version that it was given.
CREATE UNIQUE INDEX skill_versions_by_id ON skill_versions (project_id, id);

-- Skills are few, and written by people.
INSERT INTO skill_versions (project_id, skill_id, version, id, description, content, prompt_at, files, created_at)
SELECT project_id, id, 1, 'skillver_' || substr(id, 7), description, content, prompt_at, files, created_at
FROM skills;
