-- expand

-- The node for which a run was made: that of the container that its tools use. As long as that node lives, no other one
-- claims the run. NULL: any node may.
ALTER TABLE run_leases ADD COLUMN wanted_node text COLLATE "C";
