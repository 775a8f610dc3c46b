-- An answer that is remembered by patterns answers other questions that wait for the same: these are found.
CREATE INDEX approvals_pending_permissions ON approvals (project_id, definition)
    WHERE status = 'pending' AND kind = 'permission';
