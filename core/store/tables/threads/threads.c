/*
 * Threads, and the messages that clients put into them.
 *
 * A message is an item like any other. What makes it a message of the Assistants API is its
 * type, its role and that it is not hidden (THREAD_MESSAGES). Its place is `position`, which
 * grows with each item of the thread. Times would not do: two items may have the same
 * microsecond, and the clocks of nodes differ.
 *
 * Changing a thread. Appending or deleting locks the thread's row first (thread_guard.h), which
 * orders these changes among each other and against runs that begin. Then no run may be active:
 * its model has read the thread as it was. Reading takes no lock. A list is one statement, and
 * what it needs before that (the place of a cursor) does not change, since positions never do.
 *
 * Cursors are ids of messages. A list is read by position between the positions of its cursors,
 * so any page costs one range of the index items_thread.
 *
 * The usual request costs one round trip: a new thread with all its messages is a single
 * statement, and so is a look at a message. Only if nothing was found does a second one ask
 * whether the thread or the message is missing, because OpenAI's errors differ.
 *
 * Deleting. A thread goes with everything that only it has: its runs of Assistants, their steps,
 * calls, questions and events. Responses that have ended outlive it, and the items that they
 * have read are kept for them without being shown (deleted.h).
 */

#include "core/store/tables/threads/threads.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"
#include "core/store/tables/approvals/grant_sql.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/containers/container_sql.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/item_place.h"
#include "core/store/tables/threads/thread_guard.h"
#include "core/store/tables/threads/thread_store.h"
#include "core/store/tables/threads/variable_sql.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

static enum err_code no_message(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "No message found with id '%s'.", id);
}

/* ---- Threads ---- */

/* The columns of messages that differ, as arrays; the others are the same for all. */
static void arg_messages(struct db_args *args, const struct item_row *messages, size_t count)
{
    enum { ID, RUN, ASSISTANT, ROLE, BODY, METADATA, TEXTS };
    const char **texts = mem_new_array(const char *, count *TEXTS);
    int64_t *times = mem_new_array(int64_t, count * 2);

    for (size_t i = 0; i < count; i++) {
        const struct item_row *message = &messages[i];

        texts[ID * count + i] = message->id;
        texts[RUN * count + i] = *message->run_id ? message->run_id : NULL;
        texts[ASSISTANT * count + i] = *message->assistant_id ? message->assistant_id : NULL;
        texts[ROLE * count + i] = message->role;
        texts[BODY * count + i] = message->body;
        texts[METADATA * count + i] = message->metadata;
        times[i] = message->created_at;
        times[count + i] = message->completed_at;
    }
    for (size_t column = 0; column < TEXTS; column++)
        db_arg_texts(args, texts + column * count, count);
    db_arg_ints(args, times, count);
    db_arg_ints(args, times + count, count);
    free(texts);
    free(times);
}

/* An INSERT of the parameters of arg_messages(), $3 to $10. $1 is the project, $2 the thread,
 * `first` the position of the first message. */
#define INSERT_MESSAGES(first)                                                                 \
    "INSERT INTO items (project_id, thread_id, position, id, run_id, assistant_id, role,"      \
    " body, metadata, created_at, completed_at, input, hidden, turn, model_index, status,"     \
    " type) SELECT $1, $2, " first " + m.n - 1, m.id, m.run_id, m.assistant_id, m.role,"       \
    " m.body, m.metadata, m.created_at, m.completed_at, true, false, -1, 0, 'completed',"      \
    " 'message' FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],"       \
    " $8::text[], $9::bigint[], $10::bigint[]) WITH ORDINALITY AS m(id, run_id, assistant_id," \
    " role, body, metadata, created_at, completed_at, n)"

/* Both inserts in one statement, so the thread has its messages or does not exist. There is no
 * foreign key that would care which of them is executed first. */
static const struct db_statement insert_thread = {
    "store_thread_create",
    "WITH t AS (INSERT INTO threads (project_id, id, metadata, tool_resources, created_at,"
    " settings) VALUES ($1, $2, $11, $12, $13, $14)) " INSERT_MESSAGES("0")};

static void arg_thread(struct db_args *args, const struct tenant *tenant,
                       const struct thread_row *row, struct item_row *messages, size_t count)
{
    for (size_t i = 0; i < count; i++)
        messages[i].position = (int64_t)i;
    db_arg_tenant(args, tenant);
    db_arg_text(args, row->id);
    arg_messages(args, messages, count);
    db_arg_text(args, row->metadata);
    db_arg_text(args, row->tool_resources);
    db_arg_int(args, row->created_at);
    db_arg_text(args, row->settings);
}

/* One statement: one transaction and one round trip. */
enum err_code store_thread_create(struct store *store, const struct tenant *tenant,
                                  const struct thread_row *row, struct item_row *messages,
                                  size_t count, struct err *err)
{
    AUTO_DB_ARGS args = {0};

    arg_thread(&args, tenant, row, messages, count);
    return db_once(store, &insert_thread, &args, NULL, err);
}

/* The key is stored with the thread or not at all: a request that failed may be repeated under
 * its key. */
static enum err_code fill_and_insert(struct db *db, const struct tenant *tenant,
                                     const struct store_filling *filling,
                                     const struct thread_row *row, struct item_row *messages,
                                     size_t count, struct err *err)
{
    AUTO_DB_ARGS args = {0};
    enum err_code rc = store_filling_make(db, tenant, filling, row->id, err);

    if (rc)
        return rc;
    arg_thread(&args, tenant, row, messages, count);
    rc = db_exec(db, &insert_thread, &args, NULL, err);
    return rc ? rc : db_commit(db, err);
}

enum err_code store_thread_create_once(struct store *store, const struct tenant *tenant,
                                       const struct idempotency *idempotency,
                                       const struct store_filling *filling,
                                       struct thread_row *row, struct item_row *messages,
                                       size_t count, struct err *err)
{
    struct thread_row made = {0};
    char first[ID_LIMIT + 1];
    AUTO_DB *db = NULL;
    enum err_code rc;

    if (!*idempotency->key && !filling)
        return store_thread_create(store, tenant, row, messages, count, err);
    rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);
    if (rc)
        return rc;
    if (db)
        return fill_and_insert(db, tenant, filling, row, messages, count, err);
    rc = store_thread_get(store, tenant, first, &made, err);
    if (rc)
        return rc;
    thread_row_clear(row);
    *row = made;
    return ERR_OK;
}

enum err_code store_thread_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct thread_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_thread_get",
                                               "SELECT " THREAD_COLUMNS " FROM threads"
                                               " WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc =
        db_find_by_id(store, &select, tenant, id, thread_guard_unknown, &rows, err);

    if (!rc)
        thread_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_thread_modify(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_change *change,
                                  struct thread_row *ret_row, struct err *err)
{
    static const struct db_statement update = {
        "store_thread_modify",
        "UPDATE threads SET metadata = coalesce($3, metadata),"
        " tool_resources = coalesce($4, tool_resources), settings = coalesce($5, settings)"
        " WHERE project_id = $1 AND id = $2"
        " RETURNING " THREAD_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_text(&args, change->metadata);
    db_arg_text(&args, change->tool_resources);
    db_arg_text(&args, change->settings);
    rc = db_once(store, &update, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return thread_guard_unknown(id, err);

    thread_read(rows, 0, ret_row);
    return ERR_OK;
}

/* Deletes in the order of locks: the thread, leases, runs, then the rest. A run that is to begin
 * waits for the thread and then finds none. The owner of an active run and its followers are woken.
 * Responses that have ended outlive their conversation, and all items that they have read are kept
 * for them. */
enum err_code store_thread_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err)
{
#define ITS_RUNS                                                  \
    "project_id = $1 AND thread_id = $2 AND (face = 'assistants'" \
    " OR status IN ('queued', 'in_progress', 'requires_action', 'cancelling'))"
#define OF_ITS_RUNS "project_id = $1 AND run_id IN (SELECT id FROM runs WHERE " ITS_RUNS ")"
    static const struct db_statement statements[] = {
        {"store_thread_delete", "DELETE FROM threads WHERE project_id = $1 AND id = $2"},
        /* From here on no write of an active run succeeds: its fence is gone. */
        {"store_thread_delete_leases",
         "DELETE FROM run_leases WHERE " OF_ITS_RUNS " RETURNING run_id"},
        {"store_thread_delete_steps", "DELETE FROM run_steps WHERE " OF_ITS_RUNS},
        {"store_thread_delete_calls", "DELETE FROM tool_calls WHERE " OF_ITS_RUNS},
        {"store_thread_delete_approvals", "DELETE FROM approvals WHERE " OF_ITS_RUNS},
        {"store_thread_delete_grants", GRANTS_DELETE},
        {"store_thread_delete_events", "DELETE FROM run_events WHERE " OF_ITS_RUNS},
        /* Of an active response: its items were to become the conversation's when it ends. */
        {"store_thread_delete_own_items",
         "WITH gone AS (DELETE FROM items WHERE thread_id IS NULL AND " OF_ITS_RUNS
         " RETURNING id, type) " PICTURES_LET_GO("gone")},
        /* After everything that is found by the runs. */
        {"store_thread_delete_runs", "DELETE FROM runs WHERE " ITS_RUNS},
        {"store_thread_keep_items",
         "UPDATE items SET left_position = " THREAD_END " WHERE project_id = $1"
         " AND thread_id = $2 AND left_position IS NULL AND " THREAD_HAS_RESPONSES},
        {"store_thread_delete_items",
         "WITH gone AS (DELETE FROM items WHERE project_id = $1 AND thread_id = $2"
         " AND NOT " THREAD_HAS_RESPONSES " RETURNING id, type) " PICTURES_LET_GO("gone")},
    };
#undef OF_ITS_RUNS
#undef ITS_RUNS
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    for (size_t i = 0; !rc && i < COUNT_OF(statements); i++) {
        AUTO_DB_ROWS *rows = NULL;
        AUTO_DB_ARGS args = {0};

        db_arg_tenant(&args, tenant);
        db_arg_text(&args, id);
        rc = db_exec(db, &statements[i], &args, &rows, err);
        if (!rc && i == 0 && db_changed(rows) == 0)
            rc = thread_guard_unknown(id, err);
        for (size_t n = 0; !rc && n < db_count(rows); n++)
            db_wake(db, WAKEUP_DELETED, db_text(rows, n, 0));
    }
    if (!rc)
        rc = variables_forget(db, tenant, id, err);
    if (!rc)
        rc = container_end_owned(db, tenant, id, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Appending ---- */

/* Inserts nothing while a run is active. The check is part of the statement, so the usual
 * message costs no round trip for it. */
static enum err_code insert_message(struct db *db, const struct tenant *tenant,
                                    struct item_row *message, bool *ret_inserted,
                                    struct err *err)
{
    static const struct db_statement insert = {
        "store_message_create",
        INSERT_MESSAGES(
            "(SELECT coalesce(max(i.position), -1) + 1 FROM items i"
            " WHERE i.project_id = $1 AND i.thread_id = $2)") " WHERE NOT EXISTS "
                                                              "(" THREAD_ACTIVE_RUN
                                                              ") RETURNING position"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, message->thread_id);
    arg_messages(&args, message, 1);
    rc = db_exec(db, &insert, &args, &rows, err);
    if (rc)
        return rc;
    *ret_inserted = db_count(rows) == 1;
    if (*ret_inserted)
        message->position = db_int(rows, 0, 0);
    return ERR_OK;
}

/* The lock lets no run begin. But a run may end between blocking the insert and the look at its
 * id: then there is room. */
static enum err_code append_message(struct db *db, const struct tenant *tenant,
                                    struct item_row *message, struct err *err)
{
    bool inserted = false;
    enum err_code rc = insert_message(db, tenant, message, &inserted, err);

    while (!rc && !inserted) {
        rc = thread_guard_idle(db, tenant, message->thread_id, err);
        if (!rc)
            rc = insert_message(db, tenant, message, &inserted, err);
    }
    return rc;
}

/* The limit is checked behind the insert: it then counts what would be there, and the rollback
 * undoes it. */
static enum err_code create_message(struct db *db, const struct tenant *tenant,
                                    const struct store_filling *filling,
                                    struct item_row *message, struct err *err)
{
    char store_id[ID_LIMIT + 1];
    enum err_code rc = thread_guard_lock(db, tenant, message->thread_id, err);

    if (!rc)
        rc = append_message(db, tenant, message, err);
    if (!rc)
        rc = thread_guard_room(db, tenant, message->thread_id, message->position + 1, err);
    if (!rc && filling)
        rc = thread_store_fill(db, tenant, message->thread_id, filling, store_id, err);
    return rc ? rc : db_commit(db, err);
}

/* The object that the first request under the key made. */
static enum err_code find_made(struct db *db, const struct tenant *tenant, const char *id,
                               struct item_row *message, struct err *err)
{
    static const struct db_statement find = {
        "message_find_made",
        "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
        " AND i.id = $3 AND " THREAD_MESSAGES};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, message->thread_id);
    db_arg_text(&args, id);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_message(id, err);
    item_row_clear(message);
    item_read(rows, 0, message);
    return ERR_OK;
}

static enum err_code create_once(struct store *store, const struct tenant *tenant,
                                 const struct idempotency *idempotency,
                                 const struct store_filling *filling, struct item_row *message,
                                 struct err *err)
{
    struct idempotency_claim claim;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = idempotency_claim(db, tenant, idempotency, message->id, &claim, err);
    if (rc)
        return rc;
    if (claim.repeated)
        return find_made(db, tenant, claim.object_id, message, err);
    return create_message(db, tenant, filling, message, err);
}

/* A thread whose store ended meanwhile has none, so the second time one is made. */
enum err_code store_message_create_once(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const struct store_filling *filling,
                                        struct item_row *message, struct err *err)
{
    struct err unread;
    struct err *why = err ? err : &unread;
    enum err_code rc = create_once(store, tenant, idempotency, filling, message, why);

    if (rc == ERR_CONFLICT && strcmp(why->place, THREAD_STORE_PLACE) == 0)
        rc = create_once(store, tenant, idempotency, filling, message, why);
    return rc;
}

enum err_code store_message_create(struct store *store, const struct tenant *tenant,
                                   struct item_row *message, struct err *err)
{
    return store_message_create_once(store, tenant, NULL, NULL, message, err);
}

/* ---- Looking ---- */

enum err_code store_message_get(struct store *store, const struct tenant *tenant,
                                const char *thread_id, const char *id, struct item_row *ret_row,
                                struct err *err)
{
    static const struct db_statement select = {
        "store_message_get", "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1"
                             " AND i.thread_id = $2 AND i.id = $3 AND " THREAD_MESSAGES};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, id);
    rc = db_once(store, &select, &args, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = thread_guard_known_once(store, tenant, thread_id, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_message(id, err);

    item_read(rows, 0, ret_row);
    return ERR_OK;
}

/* A missing thread is reported before a missing message. */
static enum err_code page_bounds(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const struct page *page,
                                 int64_t ret_bounds[2], struct err *err)
{
    static const struct item_list list = {
        {"store_message_list_cursor",
         "SELECT i.position FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
         " AND i.id = $3 AND " THREAD_MESSAGES},
        "msg_"};
    enum err_code rc = item_bounds_find(store, tenant, thread_id, &list, page, ret_bounds, err);

    if (rc == ERR_INVALID) {
        struct err missing;

        if (thread_guard_known_once(store, tenant, thread_id, &missing) == ERR_NOT_FOUND)
            return thread_guard_unknown(thread_id, err);
    }
    return rc;
}

static enum err_code select_page(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const char *run_id,
                                 const struct page *page, struct db_rows **ret_rows,
                                 struct err *err)
{
#define SELECT_PAGE                                                                     \
    "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2" \
    " AND i.position > $3 AND i.position < $4 AND ($5::text IS NULL OR i.run_id = $5)"  \
    " AND " THREAD_MESSAGES " ORDER BY i.position"
    static const struct db_statement up = {"store_message_list_up", SELECT_PAGE " LIMIT $6"};
    static const struct db_statement down = {"store_message_list_down",
                                             SELECT_PAGE " DESC LIMIT $6"};
#undef SELECT_PAGE
    struct page_scan scan = page_scan(page);
    AUTO_DB_ARGS args = {0};
    int64_t bounds[2];
    enum err_code rc = page_bounds(store, tenant, thread_id, page, bounds, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_int(&args, bounds[0]);
    db_arg_int(&args, bounds[1]);
    db_arg_text(&args, run_id);
    db_arg_int(&args, scan.limit);
    return db_once(store, scan.ascending ? &up : &down, &args, ret_rows, err);
}

/* Reads only, so the statements need no common transaction. */
enum err_code store_message_list(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const char *run_id,
                                 const struct page *page, struct item_row **ret_rows,
                                 size_t *ret_count, bool *ret_more, struct err *err)
{
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    rc = select_page(store, tenant, thread_id, run_id, page, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = thread_guard_known_once(store, tenant, thread_id, err);
    if (rc)
        return rc;

    page_unroll(&scan, rows, item_read, ret_rows, ret_count, ret_more);
    return ERR_OK;
}

/* ---- Changing ---- */

/* Without a lock of the thread: no run reads metadata, and a writer that replaces the item
 * leaves them alone (items_upsert). */
enum err_code store_message_modify(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id, const char *metadata,
                                   struct item_row *ret_row, struct err *err)
{
    static const struct db_statement update = {
        "store_message_modify",
        "UPDATE items i SET metadata = coalesce($4, i.metadata) WHERE i.project_id = $1"
        " AND i.thread_id = $2 AND i.id = $3 AND " THREAD_MESSAGES " RETURNING " ITEM_COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, id);
    db_arg_text(&args, metadata);
    rc = db_once(store, &update, &args, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = thread_guard_known_once(store, tenant, thread_id, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_message(id, err);
    item_read(rows, 0, ret_row);
    return ERR_OK;
}

enum err_code store_message_delete(struct store *store, const struct tenant *tenant,
                                   const char *thread_id, const char *id, struct err *err)
{
    static const struct db_statement delete = {"store_message_delete",
                                               THREAD_ITEM_DELETE(THREAD_MESSAGES)};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = thread_guard_lock(db, tenant, thread_id, err);
    if (!rc)
        rc = thread_guard_idle(db, tenant, thread_id, err);
    if (rc)
        return rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, id);
    rc = db_exec(db, &delete, &args, &rows, err);
    if (!rc && db_int(rows, 0, 0) == 0)
        rc = no_message(id, err);
    return rc ? rc : db_commit(db, err);
}
