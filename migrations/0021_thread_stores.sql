-- expand

-- The thread that the store was made for, with what its messages attached. A fork of the thread gets a store of its own;
-- a store that a client has made and named is shared. NULL: made for no thread. It says nothing of the thread's life.
ALTER TABLE vector_stores ADD COLUMN thread_id text COLLATE "C";
