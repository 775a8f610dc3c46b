-- What is beside SKILL.md in the folder of a skill: a JSON object, from path to text. NULL: nothing.

ALTER TABLE skills ADD COLUMN files text;
