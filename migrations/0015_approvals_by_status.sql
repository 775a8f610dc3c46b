-- expand

-- The list of approvals by status, in the order of their ids. Without it, each page walks past all
-- approvals of the project whose status is another.
CREATE INDEX approvals_status ON approvals (project_id, status, id);
