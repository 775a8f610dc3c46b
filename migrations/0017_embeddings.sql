-- expand

-- The embedding models that documents were made with. A model is what answers to a name at an address with some settings,
-- and the newest row is the current one. `mean` and `probe` are NULL until it was reached: see embedding_models.h. No
-- tenant: there are as many rows as the operator has changed the model.
CREATE TABLE embedding_models (
    id         integer PRIMARY KEY,
    name       text NOT NULL,
    identity   text COLLATE "C" NOT NULL, -- a hash of all that decides about its vectors
    dimensions integer,
    probe      bytea,                     -- float32, little-endian: the vector of a known text
    mean       bytea,                     -- likewise: the mean of known texts
    created_at bigint NOT NULL
);

-- With a model the work has two steps. `cut` says that texts, chunks and words are stored; then vectors are, as
-- they come. A document that `replaces` another takes its place in all stores when it is ready.
ALTER TABLE documents ADD COLUMN model_id integer NOT NULL DEFAULT 0;      -- 0: words alone
ALTER TABLE documents ADD COLUMN offered_model integer NOT NULL DEFAULT 0; -- the newest that it was to be made anew for
ALTER TABLE documents ADD COLUMN cut boolean NOT NULL DEFAULT false;
ALTER TABLE documents ADD COLUMN embedded integer NOT NULL DEFAULT 0;      -- chunks with vectors so far
ALTER TABLE documents ADD COLUMN replaces text COLLATE "C";

-- Those of older models, which idle workers look for: so all projects in one.
CREATE INDEX documents_offered ON documents (offered_model, project_id, id) WHERE state = 'ready';

-- Vectors of a document that is not ready: those of the chunks from `n` on, float32, little-endian. They are deleted when
-- it is ready, because its index has them in a smaller form.
CREATE TABLE chunk_vectors (
    project_id  text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    n           integer NOT NULL,
    bytes       bytea NOT NULL,
    PRIMARY KEY (project_id, document_id, n)
);

ALTER TABLE chunk_vectors ALTER COLUMN bytes SET STORAGE EXTERNAL;
