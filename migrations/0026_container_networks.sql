-- expand

-- What the boxes of a container may reach: a JSON array of host names, and of "*." before a host name. None: nothing.
-- An older program makes containers without a network.
ALTER TABLE containers ADD COLUMN allowed_domains text NOT NULL DEFAULT '[]';
