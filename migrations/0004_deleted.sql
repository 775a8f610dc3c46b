-- A response that was deleted is kept for those that were made from it, and what was taken out of a
-- conversation for the responses that had read it: see core/store/deleted.h.

ALTER TABLE runs ADD COLUMN deleted_at bigint, ADD COLUMN purge_at bigint;

-- Whether somebody was made from a response: asked when it is to go for good.
CREATE INDEX runs_parent ON runs (project_id, parent_run_id) WHERE parent_run_id IS NOT NULL;

-- The keeper's, so all projects in one.
CREATE INDEX runs_purge ON runs (purge_at) WHERE purge_at IS NOT NULL;

-- Where its thread ended when it was taken out: responses that begin before that have read it.
ALTER TABLE items ADD COLUMN left_position bigint;
