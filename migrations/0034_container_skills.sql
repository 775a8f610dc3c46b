-- expand

-- The skills of containers, in the order in which they came. A container keeps them: a copy of the version, or what a
-- request has brought. Nodes write them into folders, which boxes see as /mnt/skills/<name>. The rows go with the
-- container.
CREATE TABLE container_skills (
    project_id   text COLLATE "C" NOT NULL,
    container_id text COLLATE "C" NOT NULL,
    position     integer NOT NULL,
    name         text COLLATE "C" NOT NULL, -- of the folder: two skills of one name are `name` and `name-2`
    origin       text COLLATE "C" NOT NULL, -- the version's id, or the hash of what a request has brought
    skill_id     text COLLATE "C",          -- NULL: a request has brought it
    version      integer,
    description  text NOT NULL,
    content      text NOT NULL, -- of SKILL.md
    others       text,          -- the other files, as in skill_versions
    PRIMARY KEY (project_id, container_id, position)
);
-- One request may name a skill twice, and two requests may bring it at once.
CREATE UNIQUE INDEX container_skills_origin ON container_skills (project_id, container_id, origin);

-- Whether there are rows, without a look at them.
ALTER TABLE containers ADD COLUMN skill_count integer NOT NULL DEFAULT 0;

-- A program of the release before `skill_versions` makes and deletes skills without their versions. While such nodes
-- run, the database does that for them.
CREATE FUNCTION skill_version_of_old_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM skill_versions WHERE project_id = OLD.project_id AND skill_id = OLD.id;
    ELSE
        INSERT INTO skill_versions (project_id, skill_id, version, id, description, content, prompt_at, files, created_at)
        VALUES (NEW.project_id, NEW.id, 1, 'skillver_' || substr(NEW.id, 7), NEW.description, NEW.content, NEW.prompt_at,
                NEW.files, NEW.created_at)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER skill_versions_of_old_programs AFTER INSERT OR DELETE ON skills
    FOR EACH ROW EXECUTE FUNCTION skill_version_of_old_program();

-- Those that were made so between the last step and this one.
INSERT INTO skill_versions (project_id, skill_id, version, id, description, content, prompt_at, files, created_at)
SELECT s.project_id, s.id, 1, 'skillver_' || substr(s.id, 7), s.description, s.content, s.prompt_at, s.files, s.created_at
FROM skills s WHERE NOT EXISTS (SELECT FROM skill_versions v WHERE v.project_id = s.project_id AND v.skill_id = s.id);
