/*
 * Objects from another server, with the ids that they had there.
 *
 * An import is a file with objects, and is often run twice: because it was interrupted, or
 * because there are more objects now. So everything is INSERT ... ON CONFLICT DO NOTHING, and
 * each object reports whether it was created, existed, or exists elsewhere.
 *
 * A thread and its messages are one transaction, although they come in several calls: a thread
 * with half of its messages would look complete to a client. The transaction holds the lock of
 * the thread from the beginning, so no run begins in between. Its deadline starts again with
 * each call; but PostgreSQL ends a session that is idle inside a transaction for
 * STORE_SLEEP_SECONDS, so a caller must not pause longer than that between two calls.
 *
 * Positions. Messages are appended behind what is there. A position that was computed for a
 * message which then existed already leaves a gap. Gaps do no harm: positions order, and nothing
 * counts on them being dense.
 *
 * Whether a run is active matters only if something was added. A repeated import that adds
 * nothing succeeds beside a running thread.
 */

#include "core/store/tables/threads/imports.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/tables/threads/thread_guard.h"

struct thread_import {
    struct db *db;
    struct tenant tenant;
    char thread_id[ID_SIZE];
    int64_t position; /* the position of the next message */
};

enum err_code store_import_assistant(struct store *store, const struct tenant *tenant,
                                     const struct assistant_row *row,
                                     enum import_outcome *ret_outcome, struct err *err)
{
    static const struct db_statement insert = {
        "import_assistant", "INSERT INTO assistants (project_id, id, body, created_at)"
                            " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->body);
    db_arg_int(&args, row->created_at);
    rc = db_once(store, &insert, &args, &rows, err);
    if (!rc)
        *ret_outcome = db_changed(rows) ? IMPORT_CREATED : IMPORT_THERE;
    return rc;
}

/* ---- A thread ---- */

static enum err_code insert_thread(const struct thread_import *import,
                                   const struct thread_row *row,
                                   enum import_outcome *ret_outcome, struct err *err)
{
    static const struct db_statement insert = {
        "import_thread", "INSERT INTO threads (project_id, id, metadata, tool_resources,"
                         " created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, &import->tenant);
    db_arg_text(&args, import->thread_id);
    db_arg_text(&args, row->metadata);
    db_arg_text(&args, row->tool_resources);
    db_arg_int(&args, row->created_at);
    rc = db_exec(import->db, &insert, &args, &rows, err);
    if (!rc && db_changed(rows))
        *ret_outcome = IMPORT_CREATED;
    return rc;
}

static enum err_code find_end(struct thread_import *import, struct err *err)
{
    static const struct db_statement find = {"import_find_end",
                                             "SELECT coalesce(max(position), -1) + 1 FROM items"
                                             " WHERE project_id = $1 AND thread_id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, &import->tenant);
    db_arg_text(&args, import->thread_id);
    rc = db_exec(import->db, &find, &args, &rows, err);
    if (!rc)
        import->position = db_int(rows, 0, 0);
    return rc;
}

/* Inserted before it is locked: what is to be locked must exist. The insert waits for another
 * import of the same thread. */
static enum err_code begin(struct thread_import *import, const struct thread_row *row,
                           enum import_outcome *ret_outcome, struct err *err)
{
    enum err_code rc = ERR_OK;

    *ret_outcome = IMPORT_THERE;
    if (row)
        rc = insert_thread(import, row, ret_outcome, err);
    if (!rc)
        rc = thread_guard_lock(import->db, &import->tenant, import->thread_id, err);
    if (!rc)
        rc = find_end(import, err);
    return rc;
}

enum err_code thread_import_begin(struct store *store, const struct tenant *tenant,
                                  const char *id, const struct thread_row *row,
                                  struct thread_import **ret_import,
                                  enum import_outcome *ret_outcome, struct err *err)
{
    AUTO_THREAD_IMPORT *import = mem_new(struct thread_import);
    enum err_code rc;

    import->tenant = tenant_kept(tenant);
    (void)snprintf(import->thread_id, sizeof(import->thread_id), "%s", id);
    rc = db_begin(store, &import->db, err);
    if (!rc)
        rc = begin(import, row, ret_outcome, err);
    if (!rc)
        *ret_import = TAKE(import);
    return rc;
}

enum err_code thread_import_commit(struct thread_import *import, struct err *err)
{
    db_allow_time(import->db);
    return db_commit(import->db, err);
}

void thread_import_end(struct thread_import *import)
{
    if (!import)
        return;
    db_end(import->db);
    free(import);
}

/* ---- Its messages ---- */

static void add_message(struct thread_import *import, struct batch *batch,
                        const struct item_row *message)
{
    batch_begin(batch);
    batch_text(batch, message->id);
    batch_id(batch, message->run_id);
    batch_id(batch, message->assistant_id);
    batch_int(batch, import->position++);
    batch_text(batch, item_status_name(message->status));
    batch_text(batch, message->role);
    batch_text(batch, message->body);
    batch_text(batch, message->metadata);
    batch_int(batch, message->created_at);
    batch_time(batch, message->completed_at);
}

/* Returns the ids that were missing, in the order of the messages. */
static enum err_code insert_messages(struct thread_import *import,
                                     const struct item_row *messages, size_t count,
                                     struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement insert = {
        "import_messages",
        "INSERT INTO items (project_id, thread_id, id, run_id, assistant_id, position, status,"
        " role, body, metadata, created_at, completed_at, type, input, hidden, turn,"
        " model_index)"
        " SELECT $11, $12, m.*, 'message', true, false, -1, 0"
        " FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[],"
        "  $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[]) m"
        " ON CONFLICT DO NOTHING RETURNING id"};
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    for (size_t i = 0; i < count; i++)
        add_message(import, &batch, &messages[i]);
    batch_finish(&batch, &args);
    db_arg_tenant(&args, &import->tenant);
    db_arg_text(&args, import->thread_id);
    return db_exec(import->db, &insert, &args, ret_rows, err);
}

static void note_elsewhere(const struct db_rows *found, const struct item_row *messages,
                           size_t count, enum import_outcome *outcomes)
{
    for (size_t i = 0; i < db_count(found); i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(db_text(found, i, 0), messages[k].id) == 0)
                outcomes[k] = IMPORT_ELSEWHERE;
}

/* Of the messages that existed, those that are in another thread: their ids are taken, and the
 * thread lacks them. Asked only if something existed. */
static enum err_code find_elsewhere(const struct thread_import *import,
                                    const struct item_row *messages, size_t count,
                                    enum import_outcome *outcomes, struct err *err)
{
    static const struct db_statement find = {
        "import_find_elsewhere", "SELECT id FROM items WHERE project_id = $1"
                                 " AND id = ANY($3::text[]) AND thread_id IS DISTINCT FROM $2"};
    AUTO_FREE const char **ids = mem_new_array(const char *, count);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    for (size_t i = 0; i < count; i++)
        ids[i] = messages[i].id;
    db_arg_tenant(&args, &import->tenant);
    db_arg_text(&args, import->thread_id);
    db_arg_texts(&args, ids, count);
    rc = db_exec(import->db, &find, &args, &rows, err);
    if (!rc)
        note_elsewhere(rows, messages, count, outcomes);
    return rc;
}

/* Matches the results with the messages. An id that is twice in one call is created once. */
static void note_created(const struct db_rows *created, const struct item_row *messages,
                         size_t count, enum import_outcome *outcomes)
{
    size_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_new =
            seen < db_count(created) && strcmp(db_text(created, seen, 0), messages[i].id) == 0;

        outcomes[i] = is_new ? IMPORT_CREATED : IMPORT_THERE;
        seen += is_new;
    }
    assert(seen == db_count(created));
}

enum err_code thread_import_messages(struct thread_import *import,
                                     const struct item_row *messages, size_t count,
                                     enum import_outcome *outcomes, struct err *err)
{
    AUTO_DB_ROWS *created = NULL;
    enum err_code rc;

    db_allow_time(import->db);
    rc = insert_messages(import, messages, count, &created, err);
    if (rc)
        return rc;
    note_created(created, messages, count, outcomes);
    if (db_count(created) < count)
        rc = find_elsewhere(import, messages, count, outcomes, err);
    if (rc || db_count(created) == 0)
        return rc;
    rc = thread_guard_idle(import->db, &import->tenant, import->thread_id, err);
    if (!rc)
        rc = thread_guard_room(import->db, &import->tenant, import->thread_id, import->position,
                               err);
    return rc;
}
