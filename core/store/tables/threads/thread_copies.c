/*
 * Threads made from other threads: forks, copies, merges. All three are one loop over the
 * source.
 *
 * Items are copied in pages, so that neither the time of a statement nor the memory for ids
 * grows with the thread. Their contents never leave the database: this side reads ids and turns,
 * decides what becomes of each item, and sends new ids; INSERT ... SELECT does the rest. All
 * pages are one transaction, and each has the time of a call of its own (db_allow_time()).
 *
 * The source is locked for sharing. Clients cannot append to it meanwhile, but the loop of a run
 * that is active there writes without that lock. So where the source ends, and which run is
 * still active, is read once at the beginning, and nothing behind that is copied. A run that
 * ends in the middle is not included, instead of half of it.
 *
 * The target is locked like for any change. When both are locked, the smaller id comes first:
 * copies in both directions at once would otherwise wait for each other.
 *
 * A copy remembers the first original of its item (origin_id), over any number of copies
 * between. A merge skips every item whose original is in the target, so merging twice changes
 * nothing.
 *
 * Decided against: copying by reference, a thread that points into another. Each read of a
 * thread would have to follow such pointers, and a deletion in one thread would have to know all
 * others.
 */

#include "core/store/tables/threads/thread_copies.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/threads/deleted.h"
#include "core/store/tables/threads/thread_guard.h"
#include "core/store/tables/threads/thread_store.h"
#include "core/store/tables/threads/variable_sql.h"

#define PAGE_ITEMS 1000
#define PAGE_BYTES ((int64_t)8 * 1024 * 1024) /* bytes of bodies, as they are stored */

/* How turns get new numbers, see turn_of(). */
struct turns {
    char run_id[ID_SIZE];
    int64_t original; /* the turn of the item before, -1 for input */
    int64_t given;    /* its new number */
    int64_t highest;
};

struct copying {
    struct db *db;
    const struct tenant *tenant;
    const char *from;
    const char *to;
    bool replaces;            /* the items that `to` had before */
    struct db_rows *known;    /* from read_known(); NULL: everything is copied */
    char active_run[ID_SIZE]; /* the active run of `from`, or "" */
    int64_t seen;             /* the position of the last original that was looked at */
    int64_t last;             /* the position of the last original at the beginning */
    int64_t position;         /* the position of the next copy */
    struct turns turns;
};

/* ---- Which items ---- */

/* Reads a row: one original. */
enum { COL_ID, COL_ORIGIN, COL_TYPE, COL_RUN, COL_INPUT, COL_TURN, COL_POSITION, COL_SIZE };

/* FROM items i: the items of thread $2 of project $1 to copy, with positions above $3 up to $4.
 * $5 is the run that has not ended. */
#define ORIGINALS                                                                     \
    "i.project_id = $1 AND i.thread_id = $2 AND i.position > $3 AND i.position <= $4" \
    " AND NOT i.hidden AND i.left_position IS NULL AND i.status <> 'in_progress'"     \
    " AND (i.input OR i.run_id IS DISTINCT FROM $5)"

static void arg_originals(struct db_args *args, const struct copying *copying, int64_t above,
                          int64_t up_to)
{
    db_arg_tenant(args, copying->tenant);
    db_arg_text(args, copying->from);
    db_arg_int(args, above);
    db_arg_int(args, up_to);
    db_arg_text(args, copying->active_run);
}

static enum err_code read_originals(struct copying *copying, struct db_rows **ret_rows,
                                    struct err *err)
{
    static const struct db_statement select = {
        "copy_originals",
        "SELECT i.id, coalesce(i.origin_id, i.id), i.type, i.run_id, i.input, i.turn,"
        " i.position, pg_column_size(i.body) FROM items i WHERE " ORIGINALS
        " ORDER BY i.position LIMIT $6"};
    AUTO_DB_ARGS args = {0};

    arg_originals(&args, copying, copying->seen, copying->last);
    db_arg_int(&args, PAGE_ITEMS);
    return db_exec(copying->db, &select, &args, ret_rows, err);
}

/* The originals of the target's items, in order. */
static enum err_code read_known(struct copying *copying, struct err *err)
{
    static const struct db_statement select = {
        "copy_known", "SELECT coalesce(origin_id, id) FROM items"
                      " WHERE project_id = $1 AND thread_id = $2 AND left_position IS NULL"
                      " ORDER BY 1"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->to);
    return db_exec(copying->db, &select, &args, &copying->known, err);
}

static bool is_known(const struct copying *copying, const char *origin)
{
    size_t low = 0;
    size_t high = copying->known ? db_count(copying->known) : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(db_text(copying->known, middle, 0), origin);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* How many of the rows may be copied at once, but at least one. */
static size_t page_length(const struct db_rows *rows)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < db_count(rows); i++) {
        bytes += db_int(rows, i, COL_SIZE);
        if (i && bytes > PAGE_BYTES)
            return i;
    }
    return db_count(rows);
}

/* ---- What becomes of them ---- */

/* An id of the same kind as the original's. An item that came with a request may have any id,
 * but a message needs a msg_ in paths. */
static void make_id(char ret_id[ID_SIZE], const char *original, const char *type)
{
    char prefix[ID_SIZE - ID_BODY];
    size_t length = strcspn(original, "_") + 1;

    if (item_type_parse(type) == ITEM_MESSAGE)
        id_make(ret_id, "msg_");
    else if (!original[length - 1] || length >= sizeof(prefix))
        id_make(ret_id, "item_");
    else {
        memcpy(prefix, original, length);
        prefix[length] = '\0';
        id_make(ret_id, prefix);
    }
}

/* Items of one answer of the model are grouped by run and turn. Copies have no run, so the
 * turns alone must separate them: each turn gets a number higher than all before. A turn that
 * goes back by one is that of final tools, whose answer stands before their calls. The gap of
 * two leaves room for it. */
static int64_t turn_of(struct turns *turns, const char *run_id, int64_t original)
{
    bool same_run = turns->original >= 0 && strcmp(turns->run_id, run_id) == 0;

    if (original >= 0 && !(same_run && original == turns->original)) {
        bool back = same_run && original < turns->original;

        turns->given = back ? turns->given - 1 : turns->highest + 2;
        turns->highest = back ? turns->highest : turns->given;
    }
    turns->original = original;
    (void)snprintf(turns->run_id, sizeof(turns->run_id), "%s", run_id);
    return original < 0 ? original : turns->given;
}

static void add_copy(struct copying *copying, struct batch *batch, const struct db_rows *rows,
                     size_t row)
{
    bool input = db_bool(rows, row, COL_INPUT);
    char id[ID_SIZE];

    make_id(id, db_text(rows, row, COL_ID), db_text(rows, row, COL_TYPE));
    batch_text(batch, id);
    batch_int(batch, copying->position++);
    batch_int(batch, turn_of(&copying->turns, db_text(rows, row, COL_RUN),
                             input ? -1 : db_int(rows, row, COL_TURN)));
}

static void add_skipped(struct batch *batch)
{
    batch_text(batch, NULL);
    batch_int(batch, 0);
    batch_int(batch, 0);
}

/* The batch says what becomes of the first, second ... original of the page. No join matches
 * the two: planned while the table was small, it would be slow when the table is large. */
static enum err_code insert_copies(struct copying *copying, struct batch *batch, int64_t last,
                                   struct err *err)
{
    static const struct db_statement insert = {
        "copy_items",
        "WITH o AS (SELECT row_number() OVER (ORDER BY i.position) AS n, i.* FROM items i"
        "  WHERE " ORIGINALS "),"
        " shown AS (INSERT INTO item_pictures (project_id, item_id, picture_id)"
        "  SELECT $1, ($7::text[])[o.n], m.picture_id FROM o JOIN item_pictures m"
        "   ON m.project_id = $1 AND m.item_id = o.id"
        "  WHERE o.type = " PICTURE_ITEMS " AND ($7::text[])[o.n] IS NOT NULL)"
        " INSERT INTO items (project_id, thread_id, id, position, turn, run_id, step_id,"
        " assistant_id, input, hidden, model_index, status, type, role, call_id, body,"
        " metadata, created_at, completed_at, origin_id)"
        " SELECT $1, $6, ($7::text[])[n], ($8::bigint[])[n], ($9::bigint[])[n], NULL, NULL,"
        "  assistant_id, input, hidden, model_index, status, type, role, call_id, body,"
        "  metadata, created_at, completed_at, coalesce(origin_id, id)"
        " FROM o WHERE ($7::text[])[n] IS NOT NULL"};
    AUTO_DB_ARGS args = {0};

    arg_originals(&args, copying, copying->seen, last);
    db_arg_text(&args, copying->to);
    batch_finish(batch, &args);
    return db_exec(copying->db, &insert, &args, NULL, err);
}

static enum err_code copy_rows(struct copying *copying, const struct db_rows *rows,
                               size_t count, struct err *err)
{
    int64_t last = db_int(rows, count - 1, COL_POSITION);
    AUTO_BATCH batch = {0};
    enum err_code rc;

    for (size_t i = 0; i < count; i++) {
        batch_begin(&batch);
        if (is_known(copying, db_text(rows, i, COL_ORIGIN)))
            add_skipped(&batch);
        else
            add_copy(copying, &batch, rows, i);
    }
    rc = insert_copies(copying, &batch, last, err);
    copying->seen = last;
    return rc;
}

static enum err_code copy_page(struct copying *copying, bool *ret_done, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    db_allow_time(copying->db);
    rc = read_originals(copying, &rows, err);
    if (rc)
        return rc;
    *ret_done = db_count(rows) == 0;
    return *ret_done ? ERR_OK : copy_rows(copying, rows, page_length(rows), err);
}

/* ---- From where to where ---- */

/* Decides what is copied: a run that ends meanwhile is still not included. */
static enum err_code look_at_source(struct copying *copying, struct err *err)
{
    static const struct db_statement look = {"copy_look_at_source",
                                             "SELECT (" THREAD_ACTIVE_RUN
                                             "), (SELECT max(position) FROM items"
                                             " WHERE project_id = $1 AND thread_id = $2)"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->from);
    rc = db_exec(copying->db, &look, &args, &rows, err);
    if (rc)
        return rc;
    db_id(rows, 0, 0, copying->active_run, sizeof(copying->active_run));
    copying->last = db_is_null(rows, 0, 1) ? -1 : db_int(rows, 0, 1);
    copying->seen = -1;
    return ERR_OK;
}

/* Copies are placed behind the last item, also behind one that is removed now. Their turns are
 * above that item's by two, because of turns that go back. */
static enum err_code look_at_target(struct copying *copying, struct err *err)
{
    static const struct db_statement look = {
        "copy_look_at_target", "SELECT position, turn FROM items WHERE project_id = $1"
                               " AND thread_id = $2 ORDER BY position DESC LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->to);
    rc = db_exec(copying->db, &look, &args, &rows, err);
    if (rc)
        return rc;
    copying->turns = (struct turns){.original = -1, .highest = -1};
    copying->position = 0;
    if (db_count(rows)) {
        copying->position = db_int(rows, 0, 0) + 1;
        copying->turns.highest = db_int(rows, 0, 1) + 2;
    }
    return ERR_OK;
}

static enum err_code empty_target(struct copying *copying, struct err *err)
{
    static const struct db_statement empty = {"copy_empty_target",
                                              THREAD_TAKE_OUT("i.left_position IS NULL")};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->to);
    db_allow_time(copying->db);
    return db_exec(copying->db, &empty, &args, NULL, err);
}

static enum err_code copy_items(struct copying *copying, struct err *err)
{
    bool done = false;
    enum err_code rc = look_at_source(copying, err);

    if (!rc)
        rc = look_at_target(copying, err);
    if (!rc && copying->replaces)
        rc = empty_target(copying, err);
    while (!rc && !done)
        rc = copy_page(copying, &done, err);
    if (!rc)
        rc = thread_guard_room(copying->db, copying->tenant, copying->to, copying->position,
                               err);
    if (!rc && copying->replaces)
        rc = variables_copy(copying->db, copying->tenant, copying->to, copying->from, err);
    else if (!rc)
        rc = variables_merge(copying->db, copying->tenant, copying->to, copying->from, err);
    return rc;
}

/* The same order for every caller, so that two that copy in both directions do not wait for
 * each other. */
static enum err_code lock_both(const struct copying *copying, struct err *err)
{
    struct db *db = copying->db;
    enum err_code rc = ERR_OK;

    if (strcmp(copying->from, copying->to) < 0)
        rc = thread_guard_share(db, copying->tenant, copying->from, err);
    if (!rc)
        rc = thread_guard_lock(db, copying->tenant, copying->to, err);
    if (!rc && strcmp(copying->from, copying->to) > 0)
        rc = thread_guard_share(db, copying->tenant, copying->from, err);
    return rc;
}

/* ---- Threads ---- */

static enum err_code insert_fork(const struct copying *copying, struct err *err)
{
    static const struct db_statement insert = {
        "fork_thread", "INSERT INTO threads (project_id, id, metadata, tool_resources,"
                       " created_at, settings)"
                       " SELECT project_id, $3, metadata, tool_resources, $4, settings"
                       " FROM threads WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->from);
    db_arg_text(&args, copying->to);
    db_arg_int(&args, clock_wall_us());
    return db_exec(copying->db, &insert, &args, NULL, err);
}

static enum err_code read_target(const struct copying *copying, struct db_rows **ret_rows,
                                 struct err *err)
{
    static const struct db_statement select = {"copy_target",
                                               "SELECT " THREAD_COLUMNS " FROM threads"
                                               " WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, copying->tenant);
    db_arg_text(&args, copying->to);
    return db_exec(copying->db, &select, &args, ret_rows, err);
}

enum err_code store_thread_fork(struct store *store, const struct tenant *tenant,
                                const char *from, struct thread_row *ret_row, struct err *err)
{
    char id[ID_SIZE];
    struct copying copying = {.tenant = tenant, .from = from, .to = id};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    id_make(id, "thread_");
    copying.db = db;
    if (!rc)
        rc = thread_guard_share(db, tenant, from, err);
    if (!rc)
        rc = insert_fork(&copying, err);
    if (!rc)
        rc = copy_items(&copying, err);
    if (!rc)
        rc = thread_store_fork(db, tenant, from, id, err);
    if (!rc)
        rc = read_target(&copying, &rows, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        thread_read(rows, 0, ret_row);
    return rc;
}

static enum err_code copy_into(struct copying *copying, struct err *err)
{
    enum err_code rc = lock_both(copying, err);

    if (!rc)
        rc = thread_guard_idle(copying->db, copying->tenant, copying->to, err);
    if (!rc && !copying->replaces)
        rc = read_known(copying, err);
    return rc ? rc : copy_items(copying, err);
}

static enum err_code put_into(struct store *store, struct copying *copying,
                              struct thread_row *ret_row, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB *db = NULL;
    enum err_code rc;

    if (strcmp(copying->from, copying->to) == 0)
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, "to",
                          "Invalid 'to': a thread cannot be put into itself.");
    rc = db_begin(store, &db, err);
    copying->db = db;
    if (!rc)
        rc = copy_into(copying, err);
    db_rows_free(copying->known);
    if (!rc)
        rc = read_target(copying, &rows, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        thread_read(rows, 0, ret_row);
    return rc;
}

enum err_code store_thread_copy(struct store *store, const struct tenant *tenant,
                                const char *from, const char *to, struct thread_row *ret_row,
                                struct err *err)
{
    struct copying copying = {.tenant = tenant, .from = from, .to = to, .replaces = true};

    return put_into(store, &copying, ret_row, err);
}

enum err_code store_thread_merge(struct store *store, const struct tenant *tenant,
                                 const char *from, const char *to, struct thread_row *ret_row,
                                 struct err *err)
{
    struct copying copying = {.tenant = tenant, .from = from, .to = to};

    return put_into(store, &copying, ret_row, err);
}
