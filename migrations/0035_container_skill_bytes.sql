-- expand

-- What a skill of a container counts for in the storage of its project; 0: a program of before has added it.
ALTER TABLE container_skills ADD COLUMN counted_bytes bigint NOT NULL DEFAULT 0;
