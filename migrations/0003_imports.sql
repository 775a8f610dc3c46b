-- Objects that were imported keep their ids, which do not begin with their time: lists of
-- assistants go by age, as store_assistant_list() reads them.

CREATE INDEX assistants_age ON assistants (project_id, created_at, id);
