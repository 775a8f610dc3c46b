-- What counts for the runs of a thread unless they say something else: its object `runnel`, or NULL.

ALTER TABLE threads ADD COLUMN settings text;
