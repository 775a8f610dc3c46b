#include "core/store/group.h"

#include <stdlib.h>
#include <string.h>

#include "core/store/load.h"
#include "core/store/puts.h"
#include "core/store/variable_sql.h"

/* clang-format off */

/*
 * Joins with unnest() are planned once and kept: the plan does not depend on how long the arrays
 * are, but PostgreSQL believes that it does, and would plan each statement anew for each group,
 * which costs more than to execute it for a single run. On a table that was small when it was
 * planned, the plan would be to read all of it, for ever; so these are planned by key, whatever the
 * sizes. It holds until the end of the transaction, and stands before every group: nobody knows
 * which statement is planned in it.
 */
static const struct db_statement by_key = {
    "group_by_key",
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),"
    " set_config('enable_mergejoin', 'off', true)"};

/* The leases of the group, with the fences that their writers have, locked in the order of run
 * ids as everywhere. From here to the end of the transaction no lease changes hands. That somebody
 * wants a run to stop is read from its lease as well: most groups need not look at runs at all. */
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

/* Where nobody gives a lease back, locking and counting events is one statement. */
static const struct db_statement leases_touch = {
    "group_leases_touch",
    "WITH mine AS MATERIALIZED (" MINE "),"
    " touched AS (UPDATE run_leases l SET last_seq = greatest(l.last_seq, m.last_seq),"
    "   state_seq = CASE WHEN m.has_state THEN greatest(" LEASE_LAST_SEQ ", m.last_seq)"
    "    ELSE l.state_seq END"
    "  FROM mine m WHERE l.project_id = m.project_id AND l.run_id = m.run_id)"
    " SELECT m.n, m.stopping FROM mine m"};

/* Frames and nothing else: most groups are this, when many streams are open. Their leases are locked
 * as well, but not written: see LEASE_LAST_SEQ. */
static const struct db_statement frames_insert = {
    "group_frames_insert",
    "WITH mine AS MATERIALIZED ("
    " SELECT u.n, l.project_id, l.run_id, l.stopping, l.queued_at, u.first_seq, u.last_seq, u.bytes"
    " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],"
    "  $7::bytea[]) u (n, project_id, run_id, fence, first_seq, last_seq, bytes)"
    " JOIN run_leases l ON l.project_id = u.project_id AND l.run_id = u.run_id"
    "  AND l.fence = u.fence"
    " ORDER BY l.run_id FOR UPDATE OF l),"
    " told AS (INSERT INTO run_events (project_id, run_id, first_seq, last_seq, run_created_at,"
    "   bytes)"
    "  SELECT m.project_id, m.run_id, m.first_seq, m.last_seq, m.queued_at, m.bytes FROM mine m)"
    " SELECT m.n, m.stopping FROM mine m"};

/* The owner does not know yet that somebody wants the run to stop: cancelling stays until the run
 * has ended one way or another. What has ended stays as it is. A run that waits already is told to wait by
 * a write that is repeated: what it still requires may be less by now. A run that has come a turn further
 * is not what brought its servers down: their deaths are forgotten. */
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

/* After the statements that ask for the fence: those that have ended need no lease any more. */
static const struct db_statement leases_drop = {
    "group_leases_drop",
    "DELETE FROM run_leases l USING unnest($1::text[], $2::text[], $3::bigint[])"
    "  u (project_id, run_id, fence)"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

/* A run that somebody wants to stop does not go to wait for its client: its owner keeps it, and
 * the event that would have said so is not in the log. */
#define RELEASED_SEQ "u.last_seq - CASE WHEN r.status = 'cancelling' THEN u.pauses ELSE 0 END"

static const struct db_statement leases_release = {
    "group_leases_release",
    "UPDATE run_leases l SET"
    "  owner = CASE WHEN u.wait_until IS NULL OR r.status <> 'cancelling' THEN NULL"
    "   ELSE l.owner END,"
    "  wait_until = CASE WHEN r.status <> 'cancelling' THEN u.wait_until END,"
    "  last_seq = greatest(l.last_seq, " RELEASED_SEQ "),"
    "  state_seq = CASE WHEN u.has_state THEN greatest(" LEASE_LAST_SEQ ", " RELEASED_SEQ ")"
    "   ELSE l.state_seq END"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bool[], $6::bigint[],"
    "  $7::bigint[]) u (project_id, run_id, fence, last_seq, has_state, wait_until, pauses)"
    " JOIN runs r ON r.project_id = u.project_id AND r.id = u.run_id"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

/* As the touch above, for a group in which others give leases back and all are locked already. */
static const struct db_statement leases_count = {
    "group_leases_count",
    "UPDATE run_leases l SET last_seq = greatest(l.last_seq, u.last_seq),"
    "  state_seq = CASE WHEN u.has_state THEN greatest(" LEASE_LAST_SEQ ", u.last_seq)"
    "   ELSE l.state_seq END"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bool[])"
    "  u (project_id, run_id, fence, last_seq, has_state)"
    " WHERE l.project_id = u.project_id AND l.run_id = u.run_id AND l.fence = u.fence"};

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

/* One that was made and ended in the same write never has a lease. */
static bool has_lease(const struct run_write *write)
{
    return !write->create || !ends_run(write);
}

static int64_t lease_fence(const struct run_write *write)
{
    return write->create ? 1 : write->fence;
}

/* What was announced up to here can be told from the rows alone. */
static bool has_state(const struct run_write *write)
{
    return has_status(write) || write->item_count || write->step_count || write->call_count ||
           write->approval_count;
}

static int64_t last_seq(const struct run_write *write)
{
    return has_log(write) ? write->log_last : -1;
}

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

/* What it made belongs to its conversation now. One that failed or was cancelled leaves nothing. */
static bool appends(const struct run_write *write)
{
    return ends_run(write) && write->run->face == FACE_RESPONSES && *write->run->thread_id &&
           (write->run->status == RUN_COMPLETED || write->run->status == RUN_INCOMPLETE);
}

static bool counts_events(const struct run_write *write)
{
    return !write->create && !ends_run(write) && !write->release &&
           (has_log(write) || has_state(write));
}

/* ---- The statements, each over all writes that need it ---- */

struct sending {
    const struct group *group;
    enum group_try try;
    struct connection *connection;
    const char *owner;
    int64_t lease_us;

    size_t queued;
    size_t
        locked_at; /* which answer names the writes that hold their lease; 0: none was asked */
    size_t updated_at; /* which one says what the status is now; 0: none */
};

/* A lease that was made in this transaction is ours without asking; unless this is a second try:
 * then it may be the one of the first, and somebody else's by now. */
static bool asks_lease(const struct sending *sending, const struct run_write *write)
{
    return has_lease(write) && (!write->create || sending->try == GROUP_AGAIN);
}

/* With the fence that the write's statements ask for; 0 asks nothing. */
static struct put_owner owner_of(const struct sending *sending, const struct run_write *write)
{
    return (struct put_owner){
        .project = write->project,
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

static size_t send_batch(struct sending *sending, const struct db_statement *statement,
                         struct batch *batch)
{
    AUTO_DB_ARGS args = {0};

    return send_with(sending, statement, batch, &args);
}

static void send_plain(struct sending *sending, const struct db_statement *statement)
{
    connection_queue(sending->connection, statement, NULL);
    sending->queued++;
}

static void send_new_runs(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        if (sending->group->writes[i]->create)
            run_add(&batch, sending->group->writes[i]->run);
    }
    send_batch(sending, sending->try == GROUP_FIRST ? &runs_insert : &runs_put, &batch);
}

static void send_new_leases(struct sending *sending)
{
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];

        if (write->create && has_lease(write))
            lease_add(&batch, write->run, last_seq(write));
    }
    if (batch.rows == 0)
        return;
    batch_finish(&batch, &args);
    db_arg_text(&args, sending->owner);
    db_arg_int(&args, sending->lease_us);
    send_with(sending, sending->try == GROUP_FIRST ? &leases_insert : &leases_put, &batch,
              &args);
}

static bool any(const struct group *group, bool (*holds)(const struct run_write *write))
{
    for (size_t i = 0; i < group->count; i++) {
        if (holds(group->writes[i]))
            return true;
    }
    return false;
}

static void send_lock(struct sending *sending)
{
    const struct group *group = sending->group;
    bool only_touch = !any(group, gives_back) && !any(group, drops_lease);
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < group->count; i++) {
        const struct run_write *write = group->writes[i];

        if (!asks_lease(sending, write))
            continue;
        batch_begin(&batch);
        batch_int(&batch, (int64_t)i);
        batch_text(&batch, write->project);
        batch_text(&batch, write->run_id);
        batch_int(&batch, lease_fence(write));
        batch_int(&batch, last_seq(write));
        batch_bool(&batch, has_state(write));
    }
    sending->locked_at = send_batch(sending, only_touch ? &leases_touch : &leases_lock, &batch);
}

static void send_updates(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct run_row *run = write->run;

        if (!write->update || write->create)
            continue;
        batch_begin(&batch);
        batch_int(&batch, (int64_t)i);
        batch_text(&batch, write->project);
        batch_text(&batch, write->run_id);
        batch_int(&batch, lease_fence(write));
        batch_text(&batch, run_status_name(run->status));
        batch_bool(&batch, run_status_is_final(run->status));
        batch_int(&batch, run->turn);
        batch_text(&batch, run->required_action);
        batch_text(&batch, run->usage);
        batch_text(&batch, run->error);
        batch_text(&batch, run->incomplete);
        batch_time(&batch, run->started_at);
        batch_time(&batch, run->expires_at);
        batch_time(&batch, run->completed_at);
        batch_time(&batch, run->failed_at);
        batch_time(&batch, run->cancelled_at);
        batch_time(&batch, run->incomplete_at);
    }
    sending->updated_at = send_batch(sending, &runs_update, &batch);
}

/* The cheap statement will do when everything is new. */
static void send_items(struct sending *sending)
{
    bool all_new = sending->try == GROUP_FIRST;
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        all_new = all_new && (write->create || write->item_count == 0);
        for (size_t k = 0; k < write->item_count; k++)
            item_add(&batch, &owner, &write->items[k]);
    }
    send_batch(sending, all_new ? &items_insert : &items_put, &batch);
}

static void send_appends(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        if (appends(write))
            append_add(&batch, &owner, write->run->thread_id);
    }
    send_batch(sending, &items_append, &batch);
}

static void send_steps(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        for (size_t k = 0; k < write->step_count; k++)
            step_add(&batch, &owner, &write->steps[k]);
    }
    send_batch(sending, &steps_put, &batch);
}

static void send_calls(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        for (size_t k = 0; k < write->call_count; k++)
            call_add(&batch, &owner, &write->calls[k]);
    }
    send_batch(sending, &calls_put, &batch);
}

static void send_approvals(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        for (size_t k = 0; k < write->approval_count; k++)
            approval_add(&batch, &owner, &write->approvals[k]);
    }
    send_batch(sending, &approvals_put, &batch);
}

static bool add_scopes(struct batch *scopes, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct run_write *write = group->writes[i];

        if (!write->variable_count)
            continue;
        batch_begin(scopes);
        batch_text(scopes, write->project);
        batch_text(scopes, write->variable_scope);
    }
    return scopes->rows > 0;
}

/* What is too much for a scope goes after it has come in. */
static void send_variables(struct sending *sending)
{
    AUTO_BATCH batch = {0};
    AUTO_BATCH scopes = {0};
    AUTO_DB_ARGS args = {0};

    if (!add_scopes(&scopes, sending->group))
        return;
    send_batch(sending, &variables_lock, &scopes);

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        for (size_t k = 0; k < write->variable_count; k++)
            variable_add(&batch, &owner, write->variable_scope, &write->variables[k]);
    }
    send_batch(sending, &variables_put, &batch);
    add_scopes(&scopes, sending->group);
    batch_finish(&scopes, &args);
    db_arg_int(&args, VARIABLE_COUNT_LIMIT);
    db_arg_int(&args, VARIABLE_BYTES_LIMIT);
    send_with(sending, &variables_evict, &scopes, &args);
}

/* The frame that says that a run waits is a chunk of its own. */
static void add_log(struct batch *batch, const struct put_owner *owner,
                    const struct run_write *write)
{
    struct log_chunk chunk = {
        .run_created_at = write->create ? write->run->created_at : 0,
        .first_seq = write->log_first,
        .last_seq = write->log_last - (write->log_pause > 0),
        .bytes = write->log_bytes,
        .length = write->log_length - write->log_pause,
    };

    if (chunk.length)
        event_add(batch, owner, &chunk);
    if (!write->log_pause)
        return;
    chunk.first_seq = chunk.last_seq = write->log_last;
    chunk.bytes += chunk.length;
    chunk.length = write->log_pause;
    chunk.pause = true;
    event_add(batch, owner, &chunk);
}

static void send_log(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];
        const struct put_owner owner = owner_of(sending, write);

        if (has_log(write))
            add_log(&batch, &owner, write);
    }
    send_batch(sending, sending->try == GROUP_FIRST ? &events_insert : &events_put, &batch);
}

static void add_fenced(struct batch *batch, const struct run_write *write)
{
    batch_begin(batch);
    batch_text(batch, write->project);
    batch_text(batch, write->run_id);
    batch_int(batch, lease_fence(write));
}

static void send_counts(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];

        if (!counts_events(write))
            continue;
        add_fenced(&batch, write);
        batch_int(&batch, last_seq(write));
        batch_bool(&batch, has_state(write));
    }
    send_batch(sending, &leases_count, &batch);
}

/* Until when it waits for its client; NULL when anybody may take it up. Without a word about its status
 * there is nothing that it could wait for. */
static void add_wait(struct batch *batch, const struct run_write *write)
{
    if (write->ready || !has_status(write))
        batch_time(batch, 0);
    else
        batch_time(batch, write->run->expires_at ? write->run->expires_at : INT64_MAX);
}

static void send_releases(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];

        if (!gives_back(write))
            continue;
        add_fenced(&batch, write);
        batch_int(&batch, last_seq(write));
        batch_bool(&batch, has_state(write));
        add_wait(&batch, write);
        batch_int(&batch, write->log_pause > 0);
    }
    send_batch(sending, &leases_release, &batch);
}

static void send_drops(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        if (drops_lease(sending->group->writes[i]))
            add_fenced(&batch, sending->group->writes[i]);
    }
    send_batch(sending, &leases_drop, &batch);
}

static void send_frames(struct sending *sending)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < sending->group->count; i++) {
        const struct run_write *write = sending->group->writes[i];

        batch_begin(&batch);
        batch_int(&batch, (int64_t)i);
        batch_text(&batch, write->project);
        batch_text(&batch, write->run_id);
        batch_int(&batch, write->fence);
        batch_int(&batch, write->log_first);
        batch_int(&batch, write->log_last);
        batch_bytes(&batch, write->log_bytes, write->log_length);
    }
    sending->locked_at = send_batch(sending, &frames_insert, &batch);
}

/* Rows are locked in the order in which an answer locks them: leases, questions, items, variables. */
static void send_group(struct sending *sending)
{
    send_plain(sending, &by_key);
    if (sending->try == GROUP_FIRST && !any(sending->group, is_more_than_frames)) {
        send_frames(sending);
        return;
    }
    send_new_runs(sending);
    send_new_leases(sending);
    send_lock(sending);
    send_updates(sending);
    send_approvals(sending);
    send_items(sending);
    send_appends(sending);
    send_steps(sending);
    send_calls(sending);
    send_variables(sending);
    send_log(sending);
    if (any(sending->group, gives_back) || any(sending->group, drops_lease)) {
        send_counts(sending);
        send_releases(sending);
        send_drops(sending);
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

/* Holding the lease is the condition for everything; a status must have been moved as well. A
 * write that ends a run does not hear of a wish to stop it. */
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
