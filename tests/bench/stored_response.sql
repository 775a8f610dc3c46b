-- What one response costs that is stored and not streamed, for pgbench: the rows that core/store/tables/runs/upserts.c
-- writes for it, one of runs and two of items, in one transaction. Ids are random in Runnel and begin
-- with their time; here each client counts, which is as kind to the indexes.
\set n :n + 1
BEGIN;
INSERT INTO runs (project_id, id, thread_id, assistant_id, parent_run_id, face, flags, status,
    cancel_requested, turn, attempts, config, metadata, required_action, usage, error, incomplete,
    created_at, started_at, expires_at, completed_at, failed_at, cancelled_at, incomplete_at)
VALUES ('proj_8DnMT2VULYawJwO6T0aUVXK5',
    'resp_' || lpad(:client_id::text, 8, '0') || lpad(:n::text, 16, '0'),
    NULL, NULL, NULL, 'responses', 1, 'completed', false, 0, 0, '{"model":"bench","tools":[]}', '{}',
    NULL,
    '{"input_tokens":10,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":20}',
    NULL, NULL, 1795305630172022, 1795305630172079, 1795309230172022, 1795305630172418, NULL, NULL,
    NULL);
INSERT INTO items (project_id, id, run_id, thread_id, step_id, assistant_id, position, input, hidden,
    turn, model_index, status, type, role, call_id, body, metadata, created_at, completed_at)
VALUES ('proj_8DnMT2VULYawJwO6T0aUVXK5',
    'msg_a' || lpad(:client_id::text, 8, '0') || lpad(:n::text, 16, '0'),
    'resp_' || lpad(:client_id::text, 8, '0') || lpad(:n::text, 16, '0'),
    NULL, NULL, NULL, 0, true, false, -1, 0, 'completed', 'message', 'user', NULL,
    '{"role":"user","content":[{"type":"input_text","text":"hi"}]}', NULL,
    1795305630172022, 1795305630172022),
   ('proj_8DnMT2VULYawJwO6T0aUVXK5',
    'msg_b' || lpad(:client_id::text, 8, '0') || lpad(:n::text, 16, '0'),
    'resp_' || lpad(:client_id::text, 8, '0') || lpad(:n::text, 16, '0'),
    NULL, NULL, NULL, 1, false, false, 0, 0, 'completed', 'message', 'assistant', NULL,
    '{"role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"@5900082928731 "}]}',
    NULL, 1795305630172382, 1795305630172418);
COMMIT;
