-- What an upstream has attached to a call and wants to have back with it, and that upstream's name: JSON,
-- see core/run/item.h. NULL: nothing. Calls that a response was asked about are made by the response that
-- answers.

ALTER TABLE tool_calls ADD COLUMN extra_content text;
ALTER TABLE approvals ADD COLUMN extra_content text;
