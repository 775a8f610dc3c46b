-- expand

-- A number that grows with each change of what the store has, by the statement that moves its counters. Searches keep
-- the set of a store as long as it stays the same. It goes with the clock, so a store that is imported again under its
-- id does not begin with numbers that it had. 0: it never had a file.
ALTER TABLE vector_stores ADD COLUMN version bigint NOT NULL DEFAULT 0;
