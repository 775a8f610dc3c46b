-- expand

-- Pictures that responses have drawn (pictures.h): a row for each, which holds its blob and counts for the limit of the
-- project. Items made before this step have their pictures in their bodies, and keep them.
CREATE TABLE pictures (
    project_id text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL, -- the blob's
    bytes      bigint NOT NULL,           -- of that blob
    check_at   bigint,                    -- when the keeper looks for an item with it; NULL: an item has it
    PRIMARY KEY (project_id, id)
);

-- The keeper's, so all projects in one.
CREATE INDEX pictures_check ON pictures (check_at) WHERE check_at IS NOT NULL;

-- Which items have them. A row may outlive its item: the keeper looks at both.
CREATE TABLE item_pictures (
    project_id text COLLATE "C" NOT NULL,
    item_id    text COLLATE "C" NOT NULL,
    picture_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, item_id)
);

-- pictures_check() in pictures.c.
CREATE INDEX item_pictures_picture ON item_pictures (project_id, picture_id);
