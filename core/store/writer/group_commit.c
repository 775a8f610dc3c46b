/*
 * One transaction for the writes of many runs: a statement per table, whatever the number of
 * runs.
 *
 * A group of 256 runs has thousands of rows. A statement for each row would cost the server a
 * message, and the database a round of its executor. So the rows of a table become the arrays
 * of one statement (upserts.h), and all statements are sent with one Sync. Without a BEGIN,
 * what stands between two Syncs is one transaction. Groups of frames alone, which is most
 * groups while many streams are open, are a single statement.
 *
 * The fence. The leases of all runs are locked first, with the fences that their writers hold,
 * in the order of run ids as everywhere. From there to the end of the transaction no lease
 * changes hands. Every statement asks for the fence as well: a run whose lease is lost writes
 * nothing, and the others of the group do not notice. The answer to the lock says which writes
 * held their lease.
 *
 * The first try and the others. On the first try, what a write creates cannot exist: rows are
 * inserted, and no lease is asked for that the transaction has just made. When the answer to a
 * commit was lost, the group is sent again as GROUP_AGAIN. It then inserts what is missing,
 * replaces the rest, and asks for every lease, because another node may hold one by now.
 *
 * The order of statements. New rows come before the lock. Then rows are locked in the order in
 * which an answer to an approval locks them: leases, questions, items, variables. Leases are
 * released and dropped last, because everything before asks for them.
 *
 * Decided against: a savepoint for each run. It would confine an SQL error to its run, at the
 * price of two statements a run in every group. Such errors are the server's own mistakes and
 * rare, so the writer repeats the group run by run instead.
 */

#include "core/store/writer/group_commit.h"

#include <stdlib.h>
#include <string.h>

#include "core/store/tables/runs/load.h"
#include "core/store/tables/runs/upserts.h"
#include "core/store/tables/threads/variable_sql.h"

/* clang-format off */

/*
 * Joins with unnest() are planned once and kept. The plan does not depend on the length of the
 * arrays, but PostgreSQL believes that it does. It would plan each statement again for each
 * group, which costs more than executing it for a single run. On a table that was small when it
 * was planned, a plan would read all of it, for ever. So these statements are planned by key,
 * whatever the sizes. The setting holds until the end of the transaction, and stands before
 * every group, because any statement may be planned in it.
 */
static const struct db_statement by_key = {
    "group_by_key",
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),"
    " set_config('enable_mergejoin', 'off', true)"};

/* Locks the leases of the group that still have their writers' fences, in the order of run ids
 * as everywhere. From here to the end of the transaction no lease changes hands. Whether a run
 * is to be cancelled is read from its lease as well, so most groups need not look at runs at
 * all. */
#define MINE \
    "SELECT u.n, l.project_id, l.run_id, l.stopping, u.last_seq, u.has_state" \
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bool[])" \
    "  u (n, project_id, run_id, fence, last_seq, has_state)" \
    " JOIN run_leases l ON l.project_id = u.project_id AND l.run_id = u.run_id" \
    "  AND l.fence = u.fence" \
    " ORDER BY l.run_id FOR UPDATE OF l"

static const struct db_statement leases_lock = {
    "group_leases_lock",
    "WITH mine AS MATERIALIZED (" MINE ") SELECT m.n, m.stopping FROM mine m"};

/* If no write releases a lease, locking and counting events is one statement. */
static const struct db_statement leases_touch = {
    "group_leases_touch",
    "WITH mine AS MATERIALIZED (" MINE "),"
    " touched AS (UPDATE run_leases l SET last_seq = greatest(l.last_seq, m.last_seq),"
    "   state_seq = CASE WHEN m.has_state THEN greatest(" LEASE_LAST_SEQ ", m.last_seq)"
    "    ELSE l.state_seq END"
    "  FROM mine m WHERE l.project_id = m.project_id AND l.run_id = m.run_id)"
    " SELECT m.n, m.stopping FROM mine m"};

/* Frames and nothing else: most groups while many streams are open. Their leases are locked as
 * well, but not written: see LEASE_LAST_SEQ. */
static const struct db_statement frames_insert = {
    "group_frames_insert",
    "WITH mine AS MATERIALIZED ("
    " SELECT u.n, l.project_id, l.run_id, l.stopping, l.queued_at, u.first_seq, u.last_seq, u.bytes"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],"
    "  $7::bytea[]) u (n, project_id, run_id, fence, first_seq, last_seq, bytes)"
    " JOIN run_leases l ON l.project_id = u.project_id AND l.run_id = u.run_id"
    "  AND l.fence = u.fence"
    " ORDER BY l.run_id FOR UPDATE OF l),"
    " logged AS (INSERT INTO run_events (project_id, run_id, first_seq, last_seq, run_created_at,"
    "   bytes)"
    "  SELECT m.project_id, m.run_id, m.first_seq, m.last_seq, m.queued_at, m.bytes FROM mine m)"
    " SELECT m.n, m.stopping FROM mine m"};

/* The owner may not know yet that the run is to be cancelled: the status cancelling stays until
 * the run ends one way or another. A run that has ended stays as it is. A run that has come a
 * turn further is not what brought its servers down, so its count of attempts starts again. */
static const struct db_statement runs_update = {
    "group_runs_update",
    "UPDATE runs r SET"
    "  status = CASE WHEN r.status = 'cancelling' AND NOT u.final THEN r.status"
    "   ELSE u.status END,"
    "  required_action = CASE WHEN r.status = 'cancelling' THEN NULL"
    "   WHEN r.status = 'requires_action' AND u.status = r.status THEN r.required_action"
    "   ELSE u.required_action END,"
    "  turn = u.turn, attempts = CASE WHEN u.turn > r.turn THEN 0 ELSE r.attempts END,"
    "  usage = u.usage, error = u.error, incomplete = u.incomplete,"
    "  started_at = u.started_at, expires_at = u.expires_at, completed_at = u.completed_at,"
    "  failed_at = u.failed_at, cancelled_at = u.cancelled_at, incomplete_at = u.incomplete_at"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bool[],"
    "  $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[],"
    "  $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[])"
    "  u (n, project_id, run_id, fence, status, final, turn, required_action, usage, error,"
    "     incomplete, started_at, expires_at, completed_at, failed_at, cancelled_at,"
    "     incomplete_at)"
    " JOIN run_leases l ON l.project_id = u.project_id AND l.run_id = u.run_id"
    "  AND l.fence = u.fence"
    " WHERE r.project_id = u.project_id AND r.id = u.run_id"
    "  AND r.status IN ('queued', 'in_progress', 'requires_action', 'cancelling')"
    " RETURNING u.n, r.status = 'cancelling'"};

/* Runs that have ended need no lease any more. After the statements that ask for the fence. */
static const struct db_statement leases_drop = {
    "group_leases_drop",
    "DELETE FROM run_leases l USING unnest($1::text[], $2::text[], $3::bigint[])"
    "  u (project_id, run_id, fence)"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

/* A run that is to be cancelled does not wait for its client. Its owner keeps it, and the event
 * that would announce the pause is not in the log. */
#define RELEASED_SEQ "u.last_seq - CASE WHEN r.status = 'cancelling' THEN u.pauses ELSE 0 END"

/* A node that drains must not be waited for by the runs that were made for it. */
static const struct db_statement leases_release = {
    "group_leases_release",
    "UPDATE run_leases l SET"
    "  owner = CASE WHEN u.wait_until IS NULL OR r.status <> 'cancelling' THEN NULL"
    "   ELSE l.owner END,"
    "  wait_until = CASE WHEN r.status <> 'cancelling' THEN u.wait_until END,"
    "  wanted_node = CASE WHEN u.wait_until IS NOT NULL THEN l.wanted_node END,"
    "  last_seq = greatest(l.last_seq, " RELEASED_SEQ "),"
    "  state_seq = CASE WHEN u.has_state THEN greatest(" LEASE_LAST_SEQ ", " RELEASED_SEQ ")"
    "   ELSE l.state_seq END"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bool[], $6::bigint[],"
    "  $7::bigint[]) u (project_id, run_id, fence, last_seq, has_state, wait_until, pauses)"
    " JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

/* Like leases_touch, for a group that also releases leases and has locked all of them already. */
static const struct db_statement leases_count = {
    "group_leases_count",
    "UPDATE run_leases l SET last_seq = greatest(l.last_seq, u.last_seq),"
    "  state_seq = CASE WHEN u.has_state THEN greatest(" LEASE_LAST_SEQ ", u.last_seq)"
    "   ELSE l.state_seq END"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bool[])"
    "  u (project_id, run_id, fence, last_seq, has_state)"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

/* The runs among these that were deleted, and whether their threads were as well. */
static const struct db_statement deleted_find = {
    "group_deleted_find",
    "SELECT u.n, u.thread_id <> '' AND NOT EXISTS (SELECT FROM threads t"
    "  WHERE t.project_id = u.project_id AND t.id = u.thread_id)"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])"
    "  u (n, project_id, run_id, thread_id)"
    " WHERE NOT EXISTS (SELECT FROM runs r WHERE r.project_id = u.project_id"
    "  AND r.id = u.run_id AND r.deleted_at IS NULL)"};

/* clang-format on */

/* ---- What a write is ---- */

static bool has_log(const struct run_write *write)
{
    return write->log_last >= write->log_first && write->log_length > 0;
}

static bool has_status(const struct run_write *write)
{
    return write->create || write->update;
}

static bool ends_run(const struct run_write *write)
{
    return has_status(write) && run_status_is_final(write->run->status);
}

/* A run that is made and ended by the same write never has a lease. */
static bool has_lease(const struct run_write *write)
{
    return !write->create || !ends_run(write);
}

static int64_t lease_fence(const struct run_write *write)
{
    return write->create ? 1 : write->fence;
}

/* The events up to here can be made from the rows alone. */
static bool has_state(const struct run_write *write)
{
    return has_status(write) || write->item_count || write->step_count || write->call_count ||
           write->approval_count;
}

static int64_t last_seq(const struct run_write *write)
{
    return has_log(write) ? write->log_last : -1;
}

/* A write of frames alone neither changes the lease's row nor reads the run's. */
static bool is_more_than_frames(const struct run_write *write)
{
    return has_state(write) || write->variable_count || write->release || !has_log(write);
}

static bool gives_back(const struct run_write *write)
{
    return has_lease(write) && !ends_run(write) && write->release;
}

static bool drops_lease(const struct run_write *write)
{
    return has_lease(write) && ends_run(write);
}

/* From now on the items of the run belong to its conversation. A run that failed or was
 * cancelled leaves none. */
static bool appends(const struct run_write *write)
{
    return ends_run(write) && write->run->face == FACE_RESPONSES && *write->run->thread_id &&
           (write->run->status == RUN_COMPLETED || write->run->status == RUN_INCOMPLETE);
}

/* Items of a run that existed before this write. */
static bool adds_items(const struct run_write *write)
{
    return !write->create && write->item_count;
}

static bool counts_events(const struct run_write *write)
{
    return !write->create && !ends_run(write) && !write->release &&
           (has_log(write) || has_state(write));
}

/* ---- A statement over all writes that need it ---- */

struct sending {
    const struct group *group;
    enum group_try try;
    struct connection *connection;
    const char *owner;
    int64_t lease_us;

    size_t queued;
    size_t
        locked_at; /* which answer names the writes that hold their lease; 0: no statement asked */
    size_t updated_at; /* which answer has the status after the update; 0: no update */
};

/* This transaction has made the lease itself, so it is not asked for. A second try is
 * different: the lease may be of the first one, and of another node by now. */
static bool asks_lease(const struct sending *sending, const struct run_write *write)
{
    return has_lease(write) && (!write->create || sending->try == GROUP_AGAIN);
}

/* The owner with the fence that the write's statements ask for; 0 asks for none. */
static struct row_owner owner_of(const struct sending *sending, const struct run_write *write)
{
    return (struct row_owner){
        .tenant = &write->tenant,
        .run_id = write->run_id,
        .fence = asks_lease(sending, write) ? lease_fence(write) : 0,
    };
}

/* Queues a statement unless its batch is empty; returns its number, from 1, or 0. */
static size_t send_with(struct sending *sending, const struct db_statement *statement,
                        struct batch *batch, struct db_args *args)
{
    if (args->count == 0 && batch->rows == 0)
        return 0;
    if (args->count == 0)
        batch_finish(batch, args);
    connection_queue(sending->connection, statement, args);
    return ++sending->queued;
}

/* Appends the rows that the n-th write of the group has for a statement, if it has any. */
typedef void add_rows(struct batch *batch, const struct sending *sending, size_t n);

static void add_all(struct batch *batch, const struct sending *sending, add_rows *add)
{
    for (size_t n = 0; n < sending->group->count; n++)
        add(batch, sending, n);
}

/* One statement for the rows of all writes. */
static size_t send_rows(struct sending *sending, const struct db_statement *statement,
                        add_rows *add)
{
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    add_all(&batch, sending, add);
    return send_with(sending, statement, &batch, &args);
}

static bool any(const struct group *group, bool (*holds)(const struct run_write *write))
{
    for (size_t i = 0; i < group->count; i++) {
        if (holds(group->writes[i]))
            return true;
    }
    return false;
}

/* ---- The rows of one write for each statement ---- */

static void add_new_run(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (write->create)
        run_add(batch, write->run);
}

static void add_new_lease(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (write->create && has_lease(write))
        lease_add(batch, write->run, last_seq(write));
}

/* How every row begins whose answer names the write. */
static void add_numbered(struct batch *batch, const struct run_write *write, size_t n)
{
    batch_begin(batch);
    batch_int(batch, (int64_t)n);
    batch_tenant(batch, &write->tenant);
    batch_text(batch, write->run_id);
    batch_int(batch, lease_fence(write));
}

static void add_lock(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (!asks_lease(sending, write))
        return;
    add_numbered(batch, write, n);
    batch_int(batch, last_seq(write));
    batch_bool(batch, has_state(write));
}

static void add_frames(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    add_numbered(batch, write, n);
    batch_int(batch, write->log_first);
    batch_int(batch, write->log_last);
    batch_bytes(batch, write->log_bytes, write->log_length);
}

/* The whole state of each run, and not what changed: an update that is repeated ends the same
 * way. */
static void add_update(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct run_row *run = write->run;

    if (!write->update || write->create)
        return;
    add_numbered(batch, write, n);
    batch_text(batch, run_status_name(run->status));
    batch_bool(batch, run_status_is_final(run->status));
    batch_int(batch, run->turn);
    batch_text(batch, run->required_action);
    batch_text(batch, run->usage);
    batch_text(batch, run->error);
    batch_text(batch, run->incomplete);
    batch_time(batch, run->started_at);
    batch_time(batch, run->expires_at);
    batch_time(batch, run->completed_at);
    batch_time(batch, run->failed_at);
    batch_time(batch, run->cancelled_at);
    batch_time(batch, run->incomplete_at);
}

static void add_approvals(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    for (size_t i = 0; i < write->approval_count; i++)
        approval_add(batch, &owner, &write->approvals[i]);
}

static void add_items(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    for (size_t i = 0; i < write->item_count; i++)
        item_add(batch, &owner, &write->items[i]);
}

static void add_append(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    if (appends(write))
        append_add(batch, &owner, write->run->thread_id);
}

static void add_steps(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    for (size_t i = 0; i < write->step_count; i++)
        step_add(batch, &owner, &write->steps[i]);
}

static void add_calls(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    for (size_t i = 0; i < write->call_count; i++)
        call_add(batch, &owner, &write->calls[i]);
}

static void add_scope(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (!write->variable_count)
        return;
    batch_begin(batch);
    batch_tenant(batch, &write->tenant);
    batch_text(batch, write->variable_scope);
}

static void add_variables(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);

    for (size_t i = 0; i < write->variable_count; i++)
        variable_add(batch, &owner, write->variable_scope, &write->variables[i]);
}

/* The frame that announces the pause is a chunk of its own. */
static void add_log(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];
    const struct row_owner owner = owner_of(sending, write);
    struct log_chunk chunk = {
        .run_created_at = write->create ? write->run->created_at : 0,
        .first_seq = write->log_first,
        .last_seq = write->log_last - (write->log_pause > 0),
        .bytes = write->log_bytes,
        .length = write->log_length - write->log_pause,
    };

    if (!has_log(write))
        return;
    if (chunk.length)
        event_add(batch, &owner, &chunk);
    if (!write->log_pause)
        return;
    chunk.first_seq = chunk.last_seq = write->log_last;
    chunk.bytes += chunk.length;
    chunk.length = write->log_pause;
    chunk.pause = true;
    event_add(batch, &owner, &chunk);
}

static void add_fenced(struct batch *batch, const struct run_write *write)
{
    batch_begin(batch);
    batch_tenant(batch, &write->tenant);
    batch_text(batch, write->run_id);
    batch_int(batch, lease_fence(write));
}

static void add_count(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (!counts_events(write))
        return;
    add_fenced(batch, write);
    batch_int(batch, last_seq(write));
    batch_bool(batch, has_state(write));
}

/* The run waits for its client until it expires; NULL when any node may claim it. A write
 * without a status does not say what the run waits for, so it waits for nothing. */
static void add_release(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (!gives_back(write))
        return;
    add_fenced(batch, write);
    batch_int(batch, last_seq(write));
    batch_bool(batch, has_state(write));
    if (write->ready || !has_status(write))
        batch_time(batch, 0);
    else
        batch_time(batch, write->run->expires_at ? write->run->expires_at : INT64_MAX);
    batch_int(batch, write->log_pause > 0);
}

/* A run that this write was to create has no row yet that could be missing. */
static void add_lost(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (write->rc != ERR_CONFLICT || write->create)
        return;
    batch_begin(batch);
    batch_int(batch, (int64_t)n);
    batch_tenant(batch, &write->tenant);
    batch_text(batch, write->run_id);
    batch_text(batch, write->thread_id);
}

static void add_drop(struct batch *batch, const struct sending *sending, size_t n)
{
    const struct run_write *write = sending->group->writes[n];

    if (drops_lease(write))
        add_fenced(batch, write);
}

/* ---- All statements, in order ---- */

static void send_new_leases(struct sending *sending, const struct db_statement *statement)
{
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    add_all(&batch, sending, add_new_lease);
    if (batch.rows == 0)
        return;
    batch_finish(&batch, &args);
    db_arg_text(&args, sending->owner);
    db_arg_int(&args, sending->lease_us);
    send_with(sending, statement, &batch, &args);
}

/* Variables that are too many for a scope are evicted after the new ones are in. */
static void send_variables(struct sending *sending)
{
    AUTO_BATCH scopes = {0};
    AUTO_DB_ARGS args = {0};

    if (!send_rows(sending, &variables_lock, add_scope))
        return;
    send_rows(sending, &variables_upsert, add_variables);
    add_all(&scopes, sending, add_scope);
    batch_finish(&scopes, &args);
    db_arg_int(&args, VARIABLE_COUNT_LIMIT);
    db_arg_int(&args, VARIABLE_BYTES_LIMIT);
    send_with(sending, &variables_evict, &scopes, &args);
}

/* New rows come first: no other transaction sees them, so they need no lock and no fence. Then
 * the leases are locked, and rows in the order in which an answer to an approval locks them:
 * questions, items, variables. leases_touch locks and counts in one statement. Where leases are
 * released or dropped, counting is left to the end: a row that is updated twice costs two
 * versions. A plain insert is enough for items when all their runs are new. */
static void send_group(struct sending *sending)
{
    const struct group *group = sending->group;
    bool first = sending->try == GROUP_FIRST;
    bool ends = any(group, gives_back) || any(group, drops_lease);
    bool new_items = first && !any(group, adds_items);

    connection_queue(sending->connection, &by_key, NULL);
    sending->queued++;
    if (first && !any(group, is_more_than_frames)) {
        sending->locked_at = send_rows(sending, &frames_insert, add_frames);
        return;
    }
    send_rows(sending, first ? &runs_insert : &runs_insert_missing, add_new_run);
    send_new_leases(sending, first ? &leases_insert : &leases_insert_missing);
    sending->locked_at = send_rows(sending, ends ? &leases_lock : &leases_touch, add_lock);
    sending->updated_at = send_rows(sending, &runs_update, add_update);
    send_rows(sending, &approvals_upsert, add_approvals);
    send_rows(sending, new_items ? &items_insert : &items_upsert, add_items);
    send_rows(sending, &items_append, add_append);
    send_rows(sending, &steps_upsert, add_steps);
    send_rows(sending, &calls_upsert, add_calls);
    send_variables(sending);
    send_rows(sending, first ? &events_insert : &events_insert_missing, add_log);
    if (ends) {
        send_rows(sending, &leases_count, add_count);
        send_rows(sending, &leases_release, add_release);
        send_rows(sending, &leases_drop, add_drop);
    }
}

/* ---- Answers ---- */

static bool is_true(const PGresult *result, int row, int column)
{
    return PQgetvalue(result, row, column)[0] == 't';
}

static void note_rows(const struct group *group, const PGresult *result)
{
    for (int row = 0; row < PQntuples(result); row++) {
        struct run_write *write = group->writes[strtoul(PQgetvalue(result, row, 0), NULL, 10)];

        write->rc = ERR_OK;
        write->cancel_requested = is_true(result, row, 1);
    }
}

/* A write succeeds if its lease was held and, if it has a status, the status was stored. A
 * write that ends a run does not report a cancellation. */
static void note_outcome(const struct sending *sending, PGresult *const *results)
{
    const struct group *group = sending->group;

    for (size_t i = 0; i < group->count; i++) {
        group->writes[i]->rc = asks_lease(sending, group->writes[i]) ? ERR_CONFLICT : ERR_OK;
        group->writes[i]->cancel_requested = false;
    }
    if (sending->locked_at)
        note_rows(group, results[sending->locked_at - 1]);
    for (size_t i = 0; i < group->count; i++) {
        if (group->writes[i]->update && !group->writes[i]->create)
            group->writes[i]->rc = ERR_CONFLICT;
    }
    if (sending->updated_at)
        note_rows(group, results[sending->updated_at - 1]);
    for (size_t i = 0; i < group->count; i++) {
        if (ends_run(group->writes[i]))
            group->writes[i]->cancel_requested = false;
    }
}

enum err_code group_write(const struct group *group, enum group_try try,
                          struct connection *connection, const char *owner, int64_t lease_us,
                          uint64_t deadline_ns, struct err *err)
{
    struct sending sending = {.group = group,
                              .try = try,
                              .connection = connection,
                              .owner = owner,
                              .lease_us = lease_us};
    PGresult *results[CONNECTION_QUEUE_LIMIT];
    enum err_code rc;

    send_group(&sending);
    rc = connection_run(connection, deadline_ns, results, NULL, err);
    if (rc)
        return rc;
    note_outcome(&sending, results);
    for (size_t i = 0; i < sending.queued; i++)
        PQclear(results[i]);
    return ERR_OK;
}

enum err_code group_find_deleted(const struct group *group, struct connection *connection,
                                 uint64_t deadline_ns, struct err *err)
{
    struct sending sending = {.group = group, .connection = connection};
    PGresult *result = NULL;
    enum err_code rc;

    if (!send_rows(&sending, &deleted_find, add_lost))
        return ERR_OK;
    rc = connection_run(connection, deadline_ns, &result, NULL, err);
    if (rc)
        return rc;
    for (int row = 0; row < PQntuples(result); row++) {
        struct run_write *write = group->writes[strtoul(PQgetvalue(result, row, 0), NULL, 10)];

        write->rc = ERR_NOT_FOUND;
        write->thread_deleted = is_true(result, row, 1);
    }
    PQclear(result);
    return ERR_OK;
}
