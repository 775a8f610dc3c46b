-- Copies of threads: an item that was copied knows the one that it goes back to, so that merging
-- twice changes nothing.

ALTER TABLE items ADD COLUMN origin_id text COLLATE "C";
