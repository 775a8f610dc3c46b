-- expand

-- What a file says, as models are shown it: read once for all requests that name the file. It
-- goes with the file.
CREATE TABLE file_texts (
    project_id text COLLATE "C" NOT NULL,
    file_id    text COLLATE "C" NOT NULL,
    blob_id    text COLLATE "C" NOT NULL, -- of the bytes that it was read from
    version    integer NOT NULL, -- of the code that has read it: another one reads it again
    pages      integer NOT NULL, -- that can be drawn as pictures
    text       text NOT NULL,
    PRIMARY KEY (project_id, file_id)
);
