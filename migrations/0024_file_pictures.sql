-- expand

-- The pages of a PDF as pictures, as models are shown them: drawn once for all requests that name the file. They go
-- with the file.
CREATE TABLE file_pictures (
    project_id  text COLLATE "C" NOT NULL,
    file_id     text COLLATE "C" NOT NULL,
    blob_id     text COLLATE "C" NOT NULL, -- of the bytes that they were drawn from
    version     integer NOT NULL, -- of the code that has drawn them: another one draws them again
    pictures_id text COLLATE "C" NOT NULL, -- the blob that has them, which the row holds
    bytes       bigint NOT NULL, -- of that blob
    PRIMARY KEY (project_id, file_id)
);
