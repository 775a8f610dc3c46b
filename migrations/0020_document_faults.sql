-- expand

-- Tries of a document that ended for a reason that the server does not know. They are counted apart from `tries`, most of
-- which wait for something: a busy model, a file that lies elsewhere. A few of them are enough to give a document up.
ALTER TABLE documents ADD COLUMN faults integer NOT NULL DEFAULT 0;
