/*
 * Runs and responses as rows: made, read, listed.
 *
 * Making a run is the largest transaction of the server. It must happen as a whole, because a
 * client that is sent a run counts on all of it, and because any of its steps may refuse. In
 * this order:
 *
 *   1. the idempotency key is claimed      a repeated request gets the first one's run
 *   2. the thread is made, or locked       ERR_NOT_FOUND if it is missing
 *   3. the thread must be idle             ERR_CONFLICT if a run of it is active, or if it is a
 *                                          conversation that has grown since the request read it
 *   4. the input items are inserted        behind the thread's last item
 *   5. the run and its lease are inserted  owned by this node, fence 1; or left to the node that it is for
 *   6. answers to questions are taken up   ERR_TAKEN if they were decided or taken up otherwise
 *   7. variables are stored
 *   8. the context is loaded               of a run of a thread; a response has read its own before
 *   9. COMMIT, proven if its answer is lost (pg/commit.h)
 *
 * The order is that of locks everywhere: thread, lease, run, approvals, items, variables. Step 4
 * comes before 5 and breaks no rule, because rows that this transaction inserts are seen by no
 * other.
 *
 * One active run per thread. The lock of the thread's row orders those who come this way. But a
 * write that creates a run goes through a writer, which locks no threads; so the unique index
 * runs_active has the last word. Its refusal becomes the usual one by a second try, which finds
 * the run that was first and names it.
 *
 * A crash. Before the commit nothing was made. After it the run exists with a lease of a dead
 * boot: the node claims it when it is started again, or another one when the lease has expired.
 * If this process lives but never hands the run to a loop, the keeper gives the lease back
 * (cluster/leases.c).
 *
 * Decided against: making the run by the loop's writer in all cases. The checks need answers
 * from the database before the client can be answered, and a loop never waits.
 */

#include "core/store/tables/runs/runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/commit.h"
#include "core/store/pg/page.h"
#include "core/store/pg/state.h"
#include "core/store/tables/approvals/approval_sql.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/runs/upserts.h"
#include "core/store/tables/threads/conversations.h"
#include "core/store/tables/threads/thread_guard.h"
#include "core/store/tables/threads/thread_store.h"
#include "core/store/tables/threads/variable_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"
#include "core/store/wakeup.h"

/* ---- Making a run ---- */

enum err_code thread_insert(struct db *db, const struct tenant *tenant,
                            const struct thread_row *thread, struct err *err)
{
    static const struct db_statement insert = {
        "run_insert_thread", "INSERT INTO threads (project_id, id, metadata, tool_resources,"
                             " created_at, settings) VALUES ($1, $2, $3, $4, $5, $6)"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread->id);
    db_arg_text(&args, thread->metadata);
    db_arg_text(&args, thread->tool_resources);
    db_arg_int(&args, thread->created_at);
    db_arg_text(&args, thread->settings);
    return db_exec(db, &insert, &args, NULL, err);
}

/* A statement of its own: one that had waited for the lock would see what was true before it
 * waited. Items that were deleted and are kept for responses count for the position too, so no
 * two rows share one. */
static enum err_code check_idle(struct db *db, const struct tenant *tenant,
                                const char *thread_id, int64_t *ret_position, struct err *err)
{
    static const struct db_statement check = {
        "run_check_idle",
        "SELECT (SELECT id FROM runs WHERE project_id = $1 AND thread_id = $2"
        "   AND status IN ('queued', 'in_progress', 'requires_action', 'cancelling')),"
        "  (SELECT coalesce(max(position), -1) + 1 FROM items"
        "   WHERE project_id = $1 AND thread_id = $2)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    rc = db_exec(db, &check, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_is_null(rows, 0, 0))
        return err_set(err, ERR_CONFLICT, "Thread %s already has an active run %s.", thread_id,
                       db_text(rows, 0, 0));
    *ret_position = db_int(rows, 0, 1);
    return ERR_OK;
}

enum err_code thread_lock_idle(struct db *db, const struct tenant *tenant,
                               const char *thread_id, int64_t *ret_position, struct err *err)
{
    enum err_code rc = thread_guard_lock(db, tenant, thread_id, err);

    if (rc)
        return rc;
    return check_idle(db, tenant, thread_id, ret_position, err);
}

/* The run has its settings already, so the files must be where it will search. */
static enum err_code fill_store(struct db *db, const struct run_creation *creation,
                                struct err *err)
{
    const char *thread_id = creation->run->thread_id;
    char used[ID_LIMIT + 1];
    enum err_code rc;

    if (!creation->filling)
        return ERR_OK;
    rc = thread_store_fill(db, creation->tenant, thread_id, creation->filling, used, err);
    if (rc || strcmp(used, creation->filled_id) == 0)
        return rc;
    return err_refuse(err, ERR_CONFLICT, REASON_UNSET, THREAD_STORE_PLACE,
                      "Thread %s has got another vector store meanwhile.", thread_id);
}

static enum err_code prepare_thread(struct db *db, const struct run_creation *creation,
                                    int64_t *ret_position, struct err *err)
{
    const struct run_row *run = creation->run;
    enum err_code rc;

    if (creation->thread) {
        *ret_position = 0;
        rc = store_filling_make(db, creation->tenant, creation->filling, creation->thread->id,
                                err);
        return rc ? rc : thread_insert(db, creation->tenant, creation->thread, err);
    }
    if (!*run->thread_id) {
        *ret_position = 0;
        return ERR_OK;
    }
    rc = thread_lock_idle(db, creation->tenant, run->thread_id, ret_position, err);
    if (rc)
        return rc;
    if (run->face == FACE_ASSISTANTS)
        return fill_store(db, creation, err);
    /* The response has read its context in an earlier transaction. An item that came in between
     * would be in the conversation before the answer, and the model has not seen it. */
    if (*ret_position != creation->seen_position)
        return err_set(err, ERR_CONFLICT, "Thread %s has got more items meanwhile.",
                       run->thread_id);
    *ret_position = 0; /* its input stays its own until it ends */
    return ERR_OK;
}

static enum err_code insert_messages(struct db *db, const struct run_creation *creation,
                                     int64_t position, struct err *err)
{
    const struct run_row *run = creation->run;
    const struct row_owner owner = {.tenant = creation->tenant, .run_id = run->id};
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    if (creation->message_count == 0)
        return ERR_OK;
    for (size_t i = 0; i < creation->message_count; i++) {
        struct item_row *message = &creation->messages[i];

        assert(strcmp(message->thread_id, run->face == FACE_ASSISTANTS ? run->thread_id : "") ==
               0);
        message->position = position + (int64_t)i;
        item_add(&batch, &owner, message);
    }
    batch_finish(&batch, &args);
    return db_exec(db, &items_insert, &args, NULL, err);
}

/* last_seq -1: the log is empty, and the first event has the number 0. */
static enum err_code insert_run(struct db *db, const struct run_row *run, struct err *err)
{
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS run_args = {0};
    AUTO_DB_ARGS lease_args = {0};
    enum err_code rc;

    run_add(&batch, run);
    batch_finish(&batch, &run_args);
    rc = db_exec(db, &runs_insert, &run_args, NULL, err);
    if (rc)
        return rc;
    lease_add(&batch, run, -1);
    batch_finish(&batch, &lease_args);
    db_arg_text(&lease_args, db->store->node_id);
    db_arg_int(&lease_args, db->store->lease_us);
    return db_exec(db, &leases_insert, &lease_args, NULL, err);
}

static bool is_for_another(const struct run_creation *creation)
{
    return creation->wanted_node && *creation->wanted_node;
}

/* It has no owner until that node claims it. */
static enum err_code leave_to(struct db *db, const struct run_creation *creation,
                              struct err *err)
{
    static const struct db_statement leave = {
        "run_leave_to", "UPDATE run_leases SET owner = NULL, wanted_node = $3"
                        " WHERE project_id = $1 AND run_id = $2"};
    AUTO_DB_ARGS args = {0};

    if (!is_for_another(creation))
        return ERR_OK;
    db_arg_tenant(&args, creation->tenant);
    db_arg_text(&args, creation->run->id);
    db_arg_text(&args, creation->wanted_node);
    return db_exec(db, &leave, &args, NULL, err);
}

static enum err_code insert_variables(struct db *db, const struct run_creation *creation,
                                      struct err *err)
{
    const struct run_row *run = creation->run;
    const struct row_owner owner = {.tenant = creation->tenant, .run_id = run->id};

    return variables_add(db, &owner, *run->thread_id ? run->thread_id : run->id,
                         creation->variables, creation->variable_count, err);
}

static enum err_code commit_creation(struct db *db, const struct run_creation *creation,
                                     const struct run_load *load, struct err *err)
{
    const struct commit_proof proof = {.tenant = creation->tenant,
                                       .thread_id = load->run.thread_id,
                                       .run_id = load->run.id,
                                       .fence = load->fence,
                                       .for_another = is_for_another(creation)};

    return commit_proven(db, &proof, err);
}

/* Drops items that are older than the newest `wanted` messages. */
static void keep_last_messages(struct run_load *load, int wanted)
{
    size_t first = load->item_count;
    int found = 0;

    while (first > 0 && found < wanted) {
        first--;
        if (load->items[first].type == ITEM_MESSAGE && !load->items[first].hidden)
            found++;
    }
    for (size_t i = 0; i < first; i++)
        item_row_clear(&load->items[i]);
    load->item_count -= first;
    if (first > 0)
        memmove(load->items, load->items + first, load->item_count * sizeof(*load->items));
}

/* The run that the first request under the key made, whatever its thread is: a request that
 * makes a thread with its run has another thread each time. Without a fence: its owner has it
 * already. */
static enum err_code find_made(struct db *db, const struct run_creation *creation,
                               const char *run_id, struct run_row *ret_run, struct err *err)
{
    static const struct db_statement find = {
        "run_find_made", "SELECT " RUN_COLUMNS " FROM runs r"
                         " WHERE r.project_id = $1 AND r.id = $2 AND r.deleted_at IS NULL"};
    const char *thread_id = creation->run->face == FACE_ASSISTANTS ? "" : NULL;
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, creation->tenant);
    db_arg_text(&args, run_id);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return fail_no_run(thread_id, run_id, err);
    run_read(rows, 0, ret_run);
    return ERR_OK;
}

static enum err_code create_in(struct db *db, const struct run_creation *creation,
                               struct run_load *load, struct err *err)
{
    struct idempotency_claim claim;
    const struct load_span span = {
        .items = creation->context_limit,
        .messages = creation->last_messages > 0 ? (size_t)creation->last_messages : 0};
    int64_t position = 0;
    enum err_code rc;

    assert(strcmp(creation->tenant->project, creation->run->project) == 0);
    rc = idempotency_claim(db, creation->tenant, creation->idempotency, creation->run->id,
                           &claim, err);
    if (rc)
        return rc;
    if (claim.repeated)
        return find_made(db, creation, claim.object_id, &load->run, err);
    rc = prepare_thread(db, creation, &position, err);
    if (rc && creation->run->face == FACE_RESPONSES)
        return conversation_error(rc, creation->run->thread_id, err);
    if (rc)
        return rc;
    rc = insert_messages(db, creation, position, err);
    if (rc)
        return rc;
    rc = insert_run(db, creation->run, err);
    if (!rc)
        rc = leave_to(db, creation, err);
    if (rc)
        return rc;
    rc = approvals_take(db, creation->tenant, creation->run->id, creation->answers,
                        creation->answer_count, creation->grants, err);
    if (rc)
        return rc;
    rc = insert_variables(db, creation, err);
    if (rc)
        return rc;
    run_row_copy(&load->run, creation->run);
    load->fence = 1;
    rc = creation->run->face == FACE_ASSISTANTS
             ? load_rest(db, creation->tenant, &span, load, err)
             : ERR_OK;
    return rc ? rc : commit_creation(db, creation, load, err);
}

/* One try, so one transaction. AUTO_DB rolls back on every way out but the last. */
static enum err_code try_create(struct store *store, const struct run_creation *creation,
                                struct run_load *ret_load, struct err *err)
{
    struct run_load load = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = create_in(db, creation, &load, err);
    if (rc) {
        run_load_clear(&load);
        return rc;
    }
    if (creation->last_messages > 0)
        keep_last_messages(&load, creation->last_messages);
    if (load.fence && is_for_another(creation)) {
        load.fence = 0;
        store_wake_node(store, creation->wanted_node, WAKEUP_CLAIM, NULL);
    }
    *ret_load = load;
    return ERR_OK;
}

static bool is_other_run(enum err_code rc, const struct err *err)
{
    return rc == ERR_CONFLICT && strcmp(err->place, "runs_active") == 0;
}

enum err_code store_run_create(struct store *store, const struct run_creation *creation,
                               struct run_load *ret_load, struct err *err)
{
    struct err first = {0};
    enum err_code rc = try_create(store, creation, ret_load, &first);

    /* A writer does not lock threads: it may insert a run between the check and the insert
     * here. A second check finds that run and names it. */
    if (is_other_run(rc, &first))
        rc = try_create(store, creation, ret_load, &first);
    if (is_other_run(rc, &first) && creation->run->face == FACE_RESPONSES)
        return conversation_error(rc, creation->run->thread_id, err);
    if (rc && err)
        *err = first;
    return rc;
}

/* ---- Chains ---- */

static enum err_code fail_no_previous(const char *response_id, struct err *err)
{
    return err_refuse(err, ERR_INVALID, REASON_UNKNOWN_PARENT, NULL,
                      "Previous response with id '%s' not found.", response_id);
}

enum err_code store_chain_load(struct store *store, const struct tenant *tenant,
                               const char *response_id, size_t context_limit,
                               struct item_row **ret_items, size_t *ret_count, bool *ret_cut,
                               char ret_thread[ID_SIZE], struct err *err)
{
    struct run_row run = {0};
    AUTO_DB *db = NULL;
    enum err_code rc;
    bool final;

    rc = db_begin(store, &db, err);
    if (rc)
        return rc;
    rc = run_find(db, tenant, NULL, response_id, &run, err);
    if (rc == ERR_NOT_FOUND)
        return fail_no_previous(response_id, err);
    if (rc)
        return rc;
    final = run_status_is_final(run.status);
    memcpy(ret_thread, run.thread_id, sizeof(run.thread_id));
    run_row_clear(&run);
    if (!final)
        return fail_no_previous(response_id, err);
    /* Nothing was changed, so db_end() may roll back. */
    return load_chain_items(db, tenant, response_id, "", context_limit, ret_items, ret_count,
                            ret_cut, err);
}

enum err_code store_chain_newest(struct store *store, const struct tenant *tenant,
                                 const char *response_id, bool *ret_found,
                                 char ret_parent[ID_SIZE], struct item_row **ret_items,
                                 size_t *ret_count, struct err *err)
{
    static const struct db_statement newest = {
        "store_chain_newest",
        "SELECT " ITEM_COLUMNS ", coalesce(r.parent_run_id, '') FROM runs r"
        " CROSS JOIN LATERAL (SELECT * FROM items i WHERE i.project_id = $1 AND i.run_id = r.id"
        "  AND (i.input OR r.status <> 'cancelled') OFFSET 0) i"
        " WHERE r.project_id = $1 AND r.id = $2 AND r.face = 'responses'"
        "  AND r.deleted_at IS NULL AND r.thread_id IS NULL"
        "  AND r.status IN ('completed', 'failed', 'cancelled', 'incomplete', 'expired')"
        " ORDER BY i.position, i.id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, response_id);
    rc = db_once(store, &newest, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows) > 0;
    if (!*ret_found)
        return ERR_OK;
    (void)snprintf(ret_parent, ID_SIZE, "%s", db_text(rows, 0, ITEM_COLUMN_COUNT));
    *ret_items = item_rows_read(rows, ret_count);
    return ERR_OK;
}

/* ---- Looking ---- */

/* A cursor whose run was deleted meanwhile still has its place, by its age. */
#define RUN_ITEMS(order)                                                                      \
    "SELECT " ITEM_COLUMNS " FROM items i"                                                    \
    " WHERE i.project_id = $1 AND i.run_id = $2 AND i.input = $3 AND NOT i.hidden"            \
    " AND i.position > coalesce("                                                             \
    "  (SELECT position FROM items WHERE project_id = $1 AND id = $4 AND run_id = $2),"       \
    "  (SELECT max(position) FROM items WHERE project_id = $1 AND run_id = $2 AND id < $4), " \
    "-1)"                                                                                     \
    " AND i.position < coalesce("                                                             \
    "  (SELECT position FROM items WHERE project_id = $1 AND id = $5 AND run_id = $2),"       \
    "  (SELECT min(position) FROM items WHERE project_id = $1 AND run_id = $2 AND id > $5),"  \
    "  9223372036854775807)"                                                                  \
    " ORDER BY i.position " order ", i.id " order " LIMIT $6"

enum err_code store_run_items(struct store *store, const struct tenant *tenant,
                              const char *run_id, bool input, const struct page *page,
                              struct item_row **ret_items, size_t *ret_count, bool *ret_more,
                              struct err *err)
{
    static const struct db_statement list[] = {
        {"store_run_items_desc", RUN_ITEMS("DESC")},
        {"store_run_items_asc", RUN_ITEMS("ASC")},
    };
    static const struct page_list cursor = {
        {"store_run_items_cursor",
         "SELECT 1 FROM items WHERE project_id = $1 AND run_id = $2 AND id = $3"},
        NULL};
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    rc = page_cursors_check(store, &cursor, tenant, run_id, page, err);
    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_bool(&args, input);
    db_arg_id(&args, scan.low);
    db_arg_id(&args, scan.high);
    db_arg_int(&args, scan.limit);
    rc = db_once(store, &list[scan.ascending], &args, &rows, err);
    if (rc)
        return rc;
    page_unroll(&scan, rows, item_read, ret_items, ret_count, ret_more);
    return ERR_OK;
}

/* Ids begin with the time of their making, so their order is the order of age. */
#define RUN_LIST(order)                                                       \
    "SELECT " RUN_COLUMNS " FROM runs r"                                      \
    " WHERE r.project_id = $1 AND r.thread_id = $2 AND r.face = 'assistants'" \
    " AND r.id > coalesce($3, '') AND r.id < coalesce($4, '~')"               \
    " ORDER BY r.id " order " LIMIT $5"

enum err_code store_run_list(struct store *store, const struct tenant *tenant,
                             const char *thread_id, const struct page *page,
                             struct run_row **ret_runs, size_t *ret_count, bool *ret_more,
                             struct err *err)
{
    static const struct db_statement list[] = {
        {"store_run_list_desc", RUN_LIST("DESC")},
        {"store_run_list_asc", RUN_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_run_list_cursor",
         "SELECT 1 FROM runs WHERE project_id = $1 AND thread_id = $2 AND id = $3"},
        NULL};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc =
        page_read(store, list, &cursor, tenant, thread_id, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, run_read, ret_runs, ret_count, ret_more);
    return rc;
}

/* ---- Changing ---- */

/* In one statement, without the lease: metadata belong to clients, and no loop writes them. */
enum err_code store_run_modify(struct store *store, const struct tenant *tenant,
                               const char *thread_id, const char *run_id, const char *metadata,
                               struct run_row *ret_run, struct err *err)
{
    static const struct db_statement modify = {
        "store_run_modify",
        "UPDATE runs r SET metadata = coalesce($4, r.metadata)"
        " WHERE r.project_id = $1 AND r.id = $2 AND " RUN_MATCHES " RETURNING " RUN_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, metadata);
    rc = db_once(store, &modify, &args, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = thread_guard_known_once(store, tenant, thread_id, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return fail_no_run(thread_id, run_id, err);
    run_read(rows, 0, ret_run);
    return ERR_OK;
}
