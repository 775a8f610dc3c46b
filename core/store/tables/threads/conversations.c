/*
 * Threads as conversations: the same rows, seen by the Responses API.
 *
 * `conv_X` and `thread_X` name one row. A conversation shows items of every type, and a thread
 * only its messages; what one API adds the other sees. So there is nothing to keep in step, and
 * a client may move from one API to the other in the middle of a conversation.
 *
 * A response in a conversation has its items for itself until it ends. Then the write that ends
 * it appends all of them (items_append). A response that fails or is cancelled leaves none.
 * Between its beginning and its end the row of its run keeps the conversation locked: every
 * change of its items checks that no run is active, and is refused with conversation_locked.
 *
 * Reading the context and making the response are two transactions, as the server works on the
 * request in between. The first reads where the conversation ends before it reads the items, and
 * the second refuses if that end has moved. So a response never answers a conversation that its
 * model has not seen.
 *
 * Errors are those of threads with other texts: functions of threads.h do the work, and
 * conversation_error() rewrites what they report.
 */

#include "core/store/tables/threads/conversations.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/page.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/runs/runs.h"
#include "core/store/tables/runs/upserts.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/item_place.h"
#include "core/store/tables/threads/thread_guard.h"
#include "core/store/tables/threads/threads.h"

/* ---- What can be wrong ---- */

/* The store knows the row as thread_X, clients of the Responses API as conv_X. */
static const char *name_of(const char *thread_id)
{
    const char *separator = strchr(thread_id, '_');

    return separator ? separator + 1 : thread_id;
}

enum err_code conversation_error(enum err_code rc, const char *thread_id, struct err *err)
{
    switch (rc) {
    case ERR_NOT_FOUND:
        return err_set(err, rc, "Conversation with id 'conv_%s' not found.",
                       name_of(thread_id));
    case ERR_CONFLICT:
        return err_refuse(err, rc, REASON_CONVERSATION_LOCKED, NULL,
                          "Another process is currently operating on this conversation. "
                          "Please retry in a few seconds.");
    default: return rc;
    }
}

static enum err_code no_item(const char *thread_id, const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Item with id '%s' not found in conversation 'conv_%s'.",
                   id, name_of(thread_id));
}

static enum err_code check_exists(struct store *store, const struct tenant *tenant,
                                  const char *thread_id, struct err *err)
{
    struct thread_row row = {0};
    enum err_code rc = store_thread_get(store, tenant, thread_id, &row, err);

    thread_row_clear(&row);
    return conversation_error(rc, thread_id, err);
}

static enum err_code lock_idle(struct db *db, const struct tenant *tenant,
                               const char *thread_id, int64_t *ret_position, struct err *err)
{
    return conversation_error(thread_lock_idle(db, tenant, thread_id, ret_position, err),
                              thread_id, err);
}

/* ---- Adding ---- */

static enum err_code insert_items(struct db *db, const struct tenant *tenant,
                                  const char *thread_id, int64_t position,
                                  struct item_row *items, size_t count, struct err *err)
{
    const struct row_owner owner = {.tenant = tenant, .run_id = ""};
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    if (count == 0)
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(items[i].thread_id, sizeof(items[i].thread_id), "%s", thread_id);
        items[i].position = position + (int64_t)i;
        item_add(&batch, &owner, &items[i]);
    }
    batch_finish(&batch, &args);
    return db_exec(db, &items_insert, &args, NULL, err);
}

enum err_code store_conversation_create(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        struct thread_row *row, struct item_row *items,
                                        size_t count, struct err *err)
{
    char first[ID_LIMIT + 1];
    struct thread_row made = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = idempotency_begin(store, tenant, idempotency, row->id, &db, first, err);

    if (rc)
        return rc;
    if (db) {
        rc = thread_insert(db, tenant, row, err);
        if (!rc)
            rc = insert_items(db, tenant, row->id, 0, items, count, err);
        return rc ? rc : db_commit(db, err);
    }
    rc = store_thread_get(store, tenant, first, &made, err);
    if (rc)
        return conversation_error(rc, first, err);
    thread_row_clear(row);
    *row = made;
    return ERR_OK;
}

/* Counts the items only if the conversation may be full: positions are never fewer than items. */
static enum err_code check_room(struct db *db, const struct tenant *tenant,
                                const char *thread_id, int64_t position, size_t more,
                                struct err *err)
{
    static const struct db_statement count = {
        "conversation_item_count",
        "SELECT count(*) FROM items WHERE project_id = $1 AND thread_id = $2"
        " AND left_position IS NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (position + (int64_t)more <= CONVERSATION_ITEM_LIMIT)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    rc = db_exec(db, &count, &args, &rows, err);
    if (rc || db_int(rows, 0, 0) + (int64_t)more <= CONVERSATION_ITEM_LIMIT)
        return rc;
    return err_set(err, ERR_CONFLICT, "Conversation 'conv_%s' cannot have more than %d items.",
                   name_of(thread_id), CONVERSATION_ITEM_LIMIT);
}

/* Items that were appended together have positions without a gap, from that of the first one. */
static enum err_code find_appended(struct db *db, const struct tenant *tenant,
                                   const char *thread_id, const char *first_id,
                                   struct item_row *items, size_t *count, struct err *err)
{
    static const struct db_statement find = {
        "conversation_find_appended",
        "SELECT " ITEM_COLUMNS " FROM items f JOIN items i ON i.project_id = f.project_id"
        " AND i.thread_id = f.thread_id AND i.position >= f.position"
        " AND i.position < f.position + $4 AND i.left_position IS NULL"
        " WHERE f.project_id = $1 AND f.thread_id = $2 AND f.id = $3"
        " AND f.left_position IS NULL ORDER BY i.position"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, first_id);
    db_arg_int(&args, (int64_t)*count);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_item(thread_id, first_id, err);
    assert(db_count(rows) <= *count);
    for (size_t i = 0; i < *count; i++)
        item_row_clear(&items[i]);
    *count = db_count(rows);
    for (size_t i = 0; i < *count; i++)
        item_read(rows, i, &items[i]);
    return ERR_OK;
}

enum err_code store_conversation_append(struct store *store, const struct tenant *tenant,
                                        const struct idempotency *idempotency,
                                        const char *thread_id, struct item_row *items,
                                        size_t *count, struct err *err)
{
    struct idempotency_claim claim = {0};
    AUTO_DB *db = NULL;
    int64_t position = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = idempotency_claim(db, tenant, idempotency, items[0].id, &claim, err);
    if (rc)
        return rc;
    if (claim.repeated)
        return find_appended(db, tenant, thread_id, claim.object_id, items, count, err);
    rc = lock_idle(db, tenant, thread_id, &position, err);
    if (!rc)
        rc = check_room(db, tenant, thread_id, position, *count, err);
    if (!rc)
        rc = insert_items(db, tenant, thread_id, position, items, *count, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Looking ---- */

#define ITEM_LIST(order)                                                                \
    "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2" \
    " AND NOT i.hidden AND i.left_position IS NULL AND i.position > $3"                 \
    " AND i.position < $4 ORDER BY i.position " order " LIMIT $5"

static enum err_code select_page(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const struct page_scan *scan,
                                 const int64_t bounds[2], struct db_rows **ret_rows,
                                 struct err *err)
{
    static const struct db_statement list[] = {
        {"store_conversation_items_desc", ITEM_LIST("DESC")},
        {"store_conversation_items_asc", ITEM_LIST("ASC")},
    };
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_int(&args, bounds[0]);
    db_arg_int(&args, bounds[1]);
    db_arg_int(&args, scan->limit);
    return db_once(store, &list[scan->ascending], &args, ret_rows, err);
}

/* A missing conversation is reported before a missing item. */
static enum err_code page_bounds(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, const struct page *page,
                                 int64_t ret_bounds[2], struct err *err)
{
    static const struct item_list list = {
        {"conversation_item_cursor",
         "SELECT position FROM items WHERE project_id = $1 AND thread_id = $2 AND id = $3"
         " AND left_position IS NULL"},
        NULL};
    enum err_code rc = item_bounds_find(store, tenant, thread_id, &list, page, ret_bounds, err);

    if (rc == ERR_INVALID) {
        enum err_code missing = check_exists(store, tenant, thread_id, err);

        return missing ? missing : rc;
    }
    return rc;
}

enum err_code store_conversation_items(struct store *store, const struct tenant *tenant,
                                       const char *thread_id, const struct page *page,
                                       struct item_row **ret_items, size_t *ret_count,
                                       bool *ret_more, struct err *err)
{
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    int64_t bounds[2];
    enum err_code rc;

    rc = page_bounds(store, tenant, thread_id, page, bounds, err);
    if (!rc)
        rc = select_page(store, tenant, thread_id, &scan, bounds, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = check_exists(store, tenant, thread_id, err);
    if (rc)
        return rc;

    page_unroll(&scan, rows, item_read, ret_items, ret_count, ret_more);
    return ERR_OK;
}

enum err_code store_conversation_item_get(struct store *store, const struct tenant *tenant,
                                          const char *thread_id, const char *id,
                                          struct item_row *ret_item, struct err *err)
{
    static const struct db_statement select = {
        "store_conversation_item_get",
        "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
        " AND i.id = $3 AND NOT i.hidden AND i.left_position IS NULL"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, id);
    rc = db_once(store, &select, &args, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = check_exists(store, tenant, thread_id, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return no_item(thread_id, id, err);

    item_read(rows, 0, ret_item);
    return ERR_OK;
}

/* Also behind items that were removed: their positions are not given out again while they are
 * kept for responses. */
static enum err_code find_end(struct db *db, const struct tenant *tenant, const char *thread_id,
                              int64_t *ret_position, struct err *err)
{
    static const struct db_statement find = {
        "conversation_end", "SELECT (SELECT coalesce(max(position), -1) + 1 FROM items"
                            "  WHERE project_id = $1 AND thread_id = $2)"
                            " FROM threads WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    rc = db_exec(db, &find, &args, &rows, err);
    if (!rc && db_count(rows) == 0)
        return conversation_error(ERR_NOT_FOUND, thread_id, err);
    if (!rc)
        *ret_position = db_int(rows, 0, 0);
    return rc;
}

static enum err_code find_active(struct store *store, const struct tenant *tenant,
                                 const char *thread_id, struct db_rows **ret_rows,
                                 struct err *err)
{
    static const struct db_statement find = {"store_conversation_active", THREAD_ACTIVE_RUN};

    return db_once_by_id(store, &find, tenant, thread_id, ret_rows, err);
}

enum err_code store_conversation_run(struct store *store, const struct tenant *tenant,
                                     const char *thread_id, struct run_row *ret_run,
                                     struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    const char *id;
    enum err_code rc = find_active(store, tenant, thread_id, &rows, err);

    if (rc)
        return rc;
    if (!db_count(rows))
        return err_set(err, ERR_NOT_FOUND, "No run of %s is active.", thread_id);
    id = db_text(rows, 0, 0);
    return store_run_get(store, tenant, id_has_prefix(id, "run_") ? thread_id : NULL, id,
                         ret_run, err);
}

enum err_code store_conversation_idle(struct store *store, const struct tenant *tenant,
                                      const char *thread_id, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_active(store, tenant, thread_id, &rows, err);

    if (!rc && db_count(rows))
        return conversation_error(ERR_CONFLICT, thread_id, err);
    return rc;
}

/* The end is read first. An item that is added before the context is read is noticed, and
 * refused, when the response is made. */
enum err_code store_conversation_context(struct store *store, const struct tenant *tenant,
                                         const char *thread_id, const struct load_span *span,
                                         struct item_row **ret_items, size_t *ret_count,
                                         bool *ret_cut, int64_t *ret_position, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = find_end(db, tenant, thread_id, ret_position, err);
    if (!rc)
        rc = load_thread_items(db, tenant, thread_id, "", span, ret_items, ret_count, ret_cut,
                               err);
    return rc;
}

/* ---- Deleting ---- */

static enum err_code delete_item(struct db *db, const struct tenant *tenant,
                                 const char *thread_id, const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_conversation_item_delete",
        THREAD_ITEM_DELETE("NOT i.hidden AND i.left_position IS NULL")};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, id);
    rc = db_exec(db, &delete, &args, &rows, err);
    if (rc)
        return rc;
    return db_int(rows, 0, 0) ? ERR_OK : no_item(thread_id, id, err);
}

enum err_code store_conversation_item_delete(struct store *store, const struct tenant *tenant,
                                             const char *thread_id, const char *id,
                                             struct thread_row *ret_row, struct err *err)
{
    AUTO_DB *db = NULL;
    int64_t position = 0;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_idle(db, tenant, thread_id, &position, err);
    if (!rc)
        rc = delete_item(db, tenant, thread_id, id, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    /* The thread's connection is free again before the next call uses it. */
    db_end(TAKE(db));
    return conversation_error(store_thread_get(store, tenant, thread_id, ret_row, err),
                              thread_id, err);
}
