-- That somebody wants a run to stop stands in its lease as well: who writes for a run has that row in
-- its hand, and need not read the run's.

ALTER TABLE run_leases ADD COLUMN stopping boolean NOT NULL DEFAULT false;

UPDATE run_leases l SET stopping = true FROM runs r
WHERE r.project_id = l.project_id AND r.id = l.run_id AND r.status = 'cancelling';
