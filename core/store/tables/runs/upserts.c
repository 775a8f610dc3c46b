/*
 * The rows that a write of a run may contain, as statements over arrays.
 *
 * Each statement takes its rows as one array for each column (pg/batch.h), for many runs at
 * once, and each foo_add() at the end of the file appends one row in the order of the columns.
 * The two lists stand in one file because nothing but a test would notice that they differ: all
 * texts look alike.
 *
 * The fence. Every row carries the run that it is written for and the fence of that run's lease.
 * A row is written only if the lease in the database has this fence, so the writes of a node
 * that has lost the run change nothing, and the rows of other runs in the same statement do not
 * notice.
 *
 * Repeating. When the answer to a commit was lost, the writer sends the same rows again
 * (writer/group_commit.c), and the first try may have been committed. So each statement must
 * come to the same end the second time: runs, leases and events are inserted if they are
 * missing, everything else is replaced by its key. What others may have changed in between is
 * left alone: metadata of items, answered calls, decided questions.
 *
 * Locks. INSERT ... ON CONFLICT locks the rows that it replaces in the order in which they come.
 * Items, steps and calls belong to one run, and the lock of its lease protects them. Questions
 * are also answered by others, so they are sorted by id.
 */

#include "core/store/tables/runs/upserts.h"

#include "core/store/tables/files/picture_sql.h"

/* clang-format off */

#define FENCE_HOLDS UPSERT_FENCE_HOLDS

/* ---- Runs ---- */

/* No fence: a row that is inserted is new, and an id is made once. unnest() gives the columns in
 * this order, so SELECT * is enough. */
#define RUNS_INSERT \
    "INSERT INTO runs (project_id, id, thread_id, assistant_id, parent_run_id, face, flags," \
    " status, cancel_requested, turn, attempts, config, metadata, required_action, usage, error," \
    " incomplete, created_at, started_at, expires_at, completed_at, failed_at, cancelled_at," \
    " incomplete_at)" \
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]," \
    " $6::text[], $7::bigint[], $8::text[], $9::bool[], $10::bigint[], $11::bigint[]," \
    " $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[]," \
    " $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[]," \
    " $23::bigint[], $24::bigint[])"

const struct db_statement runs_insert = {"runs_insert", RUNS_INSERT};
const struct db_statement runs_insert_missing = {
    "runs_insert_missing", RUNS_INSERT " ON CONFLICT (project_id, id) DO NOTHING"};

/* ---- Leases ---- */

/* lease_until is computed by the database's clock, and so is its expiry. A lease that another
 * node has taken over since the first try is left alone (DO NOTHING): the lock that follows
 * finds another fence. */
#define LEASES_INSERT \
    "INSERT INTO run_leases (project_id, run_id, owner, fence, lease_until, foreground," \
    " queued_at, last_seq, state_seq)" \
    " SELECT u.project_id, u.run_id, $6, 1," \
    "  clock_timestamp() + $7::bigint * interval '1 microsecond'," \
    "  u.foreground, u.queued_at, u.last_seq, u.last_seq" \
    " FROM unnest($1::text[], $2::text[], $3::bool[], $4::bigint[], $5::bigint[])" \
    "  u (project_id, run_id, foreground, queued_at, last_seq)"

const struct db_statement leases_insert = {"leases_insert", LEASES_INSERT};
const struct db_statement leases_insert_missing = {
    "leases_insert_missing", LEASES_INSERT " ON CONFLICT (project_id, run_id) DO NOTHING"};

/* ---- Items ---- */

/* An item whose picture lies in a blob names it (pictures.h). */
#define ITEMS_INSERT(more) \
    "WITH u AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]," \
    "  $7::text[], $8::text[], $9::bigint[], $10::bool[], $11::bool[], $12::bigint[]," \
    "  $13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[]," \
    "  $19::text[], $20::bigint[], $21::bigint[], $22::text[])" \
    "  u (project_id, owner_run, fence, id, run_id, thread_id, step_id, assistant_id, position," \
    "     input, hidden, turn, model_index, status, type, role, call_id, body, metadata," \
    "     created_at, completed_at, picture_id)" more "), shown AS (" PICTURES_SHOWN("u") ")" \
    " INSERT INTO items (project_id, id, run_id, thread_id, step_id, assistant_id, position," \
    " input, hidden, turn, model_index, status, type, role, call_id, body, metadata," \
    " created_at, completed_at)" \
    " SELECT u.project_id, u.id, u.run_id, u.thread_id, u.step_id, u.assistant_id, u.position," \
    "  u.input, u.hidden, u.turn, u.model_index, u.status, u.type, u.role, u.call_id, u.body," \
    "  u.metadata, u.created_at, u.completed_at FROM u"

const struct db_statement items_insert = {"items_insert", ITEMS_INSERT("")};

/* An id that another run's item has is a mistake of the server: position becomes NULL, which is
 * refused. The metadata belong to clients, who may have changed them meanwhile. */
const struct db_statement items_upsert = {
    "items_upsert",
    ITEMS_INSERT(" WHERE " FENCE_HOLDS)
    " ON CONFLICT (project_id, id) DO UPDATE SET"
    "  position = CASE WHEN items.run_id IS NOT DISTINCT FROM excluded.run_id"
    "   THEN excluded.position END,"
    "  step_id = excluded.step_id, input = excluded.input, hidden = excluded.hidden,"
    "  turn = excluded.turn, model_index = excluded.model_index, status = excluded.status,"
    "  type = excluded.type, role = excluded.role, call_id = excluded.call_id,"
    "  body = excluded.body, completed_at = excluded.completed_at"};

/* The items of a response become its conversation's, behind what is there. The run itself locks
 * the conversation: while it is not final nothing else is appended, so the base is computed once
 * and stays true. OFFSET 0 keeps it computed once for the response, and not once for each item.
 * Repeated, the statement finds no item without a thread, and changes nothing. */
const struct db_statement items_append = {
    "items_append",
    "UPDATE items i SET thread_id = u.thread_id, position = i.position + u.base"
    " FROM (SELECT u.*, (SELECT coalesce(max(t.position), -1) + 1 FROM items t"
    "   WHERE t.project_id = u.project_id AND t.thread_id = u.thread_id) AS base"
    "  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])"
    "   u (project_id, owner_run, fence, thread_id) WHERE " FENCE_HOLDS " OFFSET 0) u"
    " WHERE i.project_id = u.project_id AND i.run_id = u.owner_run AND i.thread_id IS NULL"};

/* ---- Steps ---- */

/* What a step is does not change; only how far it has come. */
const struct db_statement steps_upsert = {
    "steps_upsert",
    "INSERT INTO run_steps (project_id, run_id, id, thread_id, assistant_id, type, status, turn,"
    " usage, error, created_at, completed_at, ended_at)"
    " SELECT u.project_id, u.owner_run, u.id, u.thread_id, u.assistant_id, u.type, u.status,"
    "  u.turn, u.usage, u.error, u.created_at, u.completed_at, u.ended_at"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    "  $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[], $12::bigint[],"
    "  $13::bigint[], $14::bigint[])"
    "  u (project_id, owner_run, fence, id, thread_id, assistant_id, type, status, turn, usage,"
    "     error, created_at, completed_at, ended_at)"
    " WHERE " FENCE_HOLDS
    " ON CONFLICT (project_id, run_id, id) DO UPDATE SET"
    "  status = excluded.status, usage = excluded.usage, error = excluded.error,"
    "  completed_at = excluded.completed_at, ended_at = excluded.ended_at"};

/* ---- Calls ---- */

/* What the client has answered stays: the write that asked may be repeated after the answer,
 * which leaves the fence alone while the run waits for others. Replaced, the acknowledged answer
 * would be lost and its call would wait again. */
const struct db_statement calls_upsert = {
    "calls_upsert",
    "INSERT INTO tool_calls AS c (project_id, run_id, turn, call_id, item_id, step_id, position,"
    " client, state, tool, arguments, output, attempts, resolved_arguments, extra_content)"
    " SELECT u.project_id, u.owner_run, u.turn, u.call_id, u.item_id, u.step_id, u.position,"
    "  u.client, u.state, u.tool, u.arguments, u.output, u.attempts, u.resolved_arguments,"
    "  u.extra_content"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[],"
    "  $7::text[], $8::bigint[], $9::bool[], $10::text[], $11::text[], $12::text[], $13::text[],"
    "  $14::bigint[], $15::text[], $16::text[])"
    "  u (project_id, owner_run, fence, turn, call_id, item_id, step_id, position, client, state,"
    "     tool, arguments, output, attempts, resolved_arguments, extra_content)"
    " WHERE " FENCE_HOLDS
    " ON CONFLICT (project_id, run_id, turn, call_id) DO UPDATE SET"
    "  item_id = excluded.item_id, step_id = excluded.step_id, position = excluded.position,"
    "  client = excluded.client, state = excluded.state, tool = excluded.tool,"
    "  arguments = excluded.arguments, output = excluded.output, attempts = excluded.attempts,"
    "  resolved_arguments = excluded.resolved_arguments,"
    "  extra_content = excluded.extra_content"
    " WHERE NOT (c.client AND c.state = 'done')"};

/* ---- Approvals ---- */

/* An answer may come before the writer knows that its question is stored. It stays (the last
 * WHERE). */
const struct db_statement approvals_upsert = {
    "approvals_upsert",
    "WITH put AS (INSERT INTO approvals AS a (project_id, run_id, id, thread_id, call_id, server_label, tool,"
    " arguments, policy, status, reason, used_by, created_at, decided_at, kind, details, held,"
    " definition, memory, extra_content)"
    " SELECT u.project_id, u.owner_run, u.id, u.thread_id, u.call_id, u.server_label, u.tool,"
    "  u.arguments, u.policy, u.status, u.reason, u.used_by, u.created_at, u.decided_at,"
    "  u.kind, u.details, u.held, u.definition, u.memory, u.extra_content"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    "  $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],"
    "  $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::text[],"
    "  $19::text[], $20::text[], $21::text[])"
    "  u (project_id, owner_run, fence, id, thread_id, call_id, server_label, tool, arguments,"
    "     policy, status, reason, used_by, created_at, decided_at, kind, details, held,"
    "     definition, memory, extra_content)"
    " WHERE " FENCE_HOLDS " ORDER BY u.id" /* the order in which all code locks them */
    " ON CONFLICT (project_id, id) DO UPDATE SET status = excluded.status,"
    "  reason = excluded.reason, used_by = excluded.used_by, decided_at = excluded.decided_at,"
    "  held = excluded.held"
    " WHERE a.status = 'pending'"
    " RETURNING a.project_id, a.id, a.run_id, a.status, a.kind, a.policy)"
    " INSERT INTO approval_checks (project_id, id, run_id)"
    " SELECT p.project_id, p.id, p.run_id FROM put p"
    " WHERE p.status = 'pending' AND p.kind = 'permission' AND p.policy = 'auto'"
    " ON CONFLICT (project_id, id) DO NOTHING"};

/* ---- Events ---- */

/* A chunk lies in the partition of the day on which its run was made. The lease knows that day;
 * a run that is made and ended by one write has no lease and brings the day along. A chunk that
 * announces the pause is stored only if the run does pause: a cancellation may have come
 * first. */
#define EVENTS_INSERT \
    "INSERT INTO run_events (project_id, run_id, first_seq, last_seq, run_created_at, bytes)" \
    " SELECT u.project_id, u.owner_run, u.first_seq, u.last_seq," \
    "  coalesce(l.queued_at, u.created_at), u.bytes" \
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]," \
    "  $6::bigint[], $7::bytea[], $8::bool[])" \
    "  u (project_id, owner_run, fence, created_at, first_seq, last_seq, bytes, pause)" \
    " LEFT JOIN run_leases l ON l.project_id = u.project_id AND l.run_id = u.owner_run" \
    "  AND l.fence = u.fence" \
    " WHERE (u.fence = 0 OR l.fence = u.fence)" \
    "  AND (NOT u.pause OR EXISTS (SELECT FROM runs r WHERE r.project_id = u.project_id" \
    "   AND r.id = u.owner_run AND r.status = 'requires_action'))"

const struct db_statement events_insert = {"events_insert", EVENTS_INSERT};
const struct db_statement events_insert_missing = {"events_insert_missing", EVENTS_INSERT " ON CONFLICT DO NOTHING"};

/* clang-format on */

/* ---- Rows become columns, in the order of the statements above ---- */

void run_add(struct batch *batch, const struct run_row *run)
{
    batch_begin(batch);
    batch_text(batch, run->project);
    batch_text(batch, run->id);
    batch_id(batch, run->thread_id);
    batch_id(batch, run->assistant_id);
    batch_id(batch, run->parent_id);
    batch_text(batch, row_face_name(run->face));
    batch_int(batch, run->flags);
    batch_text(batch, run_status_name(run->status));
    batch_bool(batch, run->cancel_requested);
    batch_int(batch, run->turn);
    batch_int(batch, run->attempts);
    batch_text(batch, run->config);
    batch_text(batch, run->metadata);
    batch_text(batch, run->required_action);
    batch_text(batch, run->usage);
    batch_text(batch, run->error);
    batch_text(batch, run->incomplete);
    batch_int(batch, run->created_at);
    batch_time(batch, run->started_at);
    batch_time(batch, run->expires_at);
    batch_time(batch, run->completed_at);
    batch_time(batch, run->failed_at);
    batch_time(batch, run->cancelled_at);
    batch_time(batch, run->incomplete_at);
}

void lease_add(struct batch *batch, const struct run_row *run, int64_t last_seq)
{
    batch_begin(batch);
    batch_text(batch, run->project);
    batch_text(batch, run->id);
    batch_bool(batch, !(run->flags & RUN_RESUMABLE));
    batch_int(batch, run->created_at);
    batch_int(batch, last_seq);
}

static void add_owner(struct batch *batch, const struct row_owner *owner)
{
    batch_begin(batch);
    batch_tenant(batch, owner->tenant);
    batch_text(batch, owner->run_id);
    batch_int(batch, owner->fence);
}

void item_add(struct batch *batch, const struct row_owner *owner, const struct item_row *item)
{
    add_owner(batch, owner);
    batch_text(batch, item->id);
    batch_id(batch, item->run_id);
    batch_id(batch, item->thread_id);
    batch_id(batch, item->step_id);
    batch_id(batch, item->assistant_id);
    batch_int(batch, item->position);
    batch_bool(batch, item->input);
    batch_bool(batch, item->hidden);
    batch_int(batch, item->turn);
    batch_int(batch, item->model_index);
    batch_text(batch, item_status_name(item->status));
    batch_text(batch, item_row_type_name(item));
    batch_id(batch, item->role);
    batch_id(batch, item->call_id);
    batch_text(batch, item->body);
    batch_text(batch, item->metadata);
    batch_int(batch, item->created_at);
    batch_time(batch, item->completed_at);
    batch_text(batch, item->picture_id);
}

void append_add(struct batch *batch, const struct row_owner *owner, const char *thread_id)
{
    add_owner(batch, owner);
    batch_text(batch, thread_id);
}

void step_add(struct batch *batch, const struct row_owner *owner, const struct step_row *step)
{
    add_owner(batch, owner);
    batch_text(batch, step->id);
    batch_id(batch, step->thread_id);
    batch_id(batch, step->assistant_id);
    batch_text(batch, step_type_name(step->type));
    batch_text(batch, step_status_name(step->status));
    batch_int(batch, step->turn);
    batch_text(batch, step->usage);
    batch_text(batch, step->error);
    batch_int(batch, step->created_at);
    batch_time(batch, step->completed_at);
    batch_time(batch, step->ended_at);
}

void call_add(struct batch *batch, const struct row_owner *owner, const struct call_row *call)
{
    add_owner(batch, owner);
    batch_int(batch, call->turn);
    batch_text(batch, call->call_id);
    batch_id(batch, call->item_id);
    batch_id(batch, call->step_id);
    batch_int(batch, call->position);
    batch_bool(batch, call->client);
    batch_text(batch, call_state_name(call->state));
    batch_text(batch, call->tool);
    batch_text(batch, call->arguments);
    batch_text(batch, call->output);
    batch_int(batch, call->attempts);
    batch_text(batch, call->resolved);
    batch_text(batch, call->extra);
}

void approval_add(struct batch *batch, const struct row_owner *owner,
                  const struct approval_row *approval)
{
    add_owner(batch, owner);
    batch_text(batch, approval->id);
    batch_id(batch, approval->thread_id);
    batch_text(batch, approval->call_id);
    batch_text(batch, approval->server_label);
    batch_text(batch, approval->tool);
    batch_text(batch, approval->arguments);
    batch_text(batch, approval->policy);
    batch_text(batch, approval_status_name(approval->status));
    batch_text(batch, approval->reason);
    batch_id(batch, approval->used_by);
    batch_int(batch, approval->created_at);
    batch_time(batch, approval->decided_at);
    batch_text(batch, approval_kind_name(approval->kind));
    batch_text(batch, approval->details);
    batch_text(batch, approval->held);
    batch_text(batch, approval->definition);
    batch_text(batch, approval->memory);
    batch_text(batch, approval->extra);
}

void event_add(struct batch *batch, const struct row_owner *owner,
               const struct log_chunk *chunk)
{
    add_owner(batch, owner);
    batch_time(batch, chunk->run_created_at);
    batch_int(batch, chunk->first_seq);
    batch_int(batch, chunk->last_seq);
    batch_bytes(batch, chunk->bytes, chunk->length);
    batch_bool(batch, chunk->pause);
}
