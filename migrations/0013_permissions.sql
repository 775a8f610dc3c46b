-- A tool may ask for more than to be run: what it plans to do needs somebody's permission. `details` says
-- what that is.

ALTER TABLE approvals DROP CONSTRAINT approvals_kind;
ALTER TABLE approvals ADD CONSTRAINT approvals_kind CHECK (kind IN
    ('execution', 'result', 'permission'));
