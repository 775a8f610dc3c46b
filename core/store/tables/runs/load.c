/*
 * A run as its loop takes it up: the row, the lease, the items that the model may see, open
 * steps, and the calls of the last turn.
 *
 * Everything is read inside the transaction that has made, claimed or moved the run, behind the
 * statement that locked its lease. That lock keeps the run still: its last owner can write no
 * more, and no client can move it. So although each statement sees a moment of its own (READ
 * COMMITTED), together they are one picture, and the loop continues exactly where the last write
 * ended.
 *
 * Where the items come from:
 *
 *   a run of a thread             the thread's newest items; its own are among them
 *   a response in a conversation  the conversation's items, then its own, which become the
 *                                 conversation's when it ends
 *   a response outside            its own and those of its ancestors, by parent_run_id
 *
 * Limits. A context has a limit of items, and statements read backwards from the newest one. So
 * a thread of a hundred thousand messages costs what is wanted of it. They read one item more than the
 * limit: it shows that the history is longer, which its client must not learn from a bad answer. The
 * rules before the limit are then read by a statement of their own. The items of the run itself do not
 * count. Otherwise a run that is continued after a crash would have less history than it began with.
 *
 * Plans. Where rows are found one after another (up a chain, by a list of ids), a LATERAL
 * subquery with OFFSET 0 stands instead of a join. PostgreSQL does not flatten such a subquery,
 * so each step remains one access by key. A prepared statement keeps its plan, and one that was
 * made while a table was almost empty would scan all of it when it is large.
 */

#include "core/store/tables/runs/load.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/commit.h"
#include "core/store/pg/state.h"
#include "core/store/tables/columns.h"
#include "core/store/tables/threads/thread_guard.h"

char *node_of(const char *node_id)
{
    return mem_strndup(node_id, strcspn(node_id, "/"));
}

/* ---- Leases ---- */

/* The database's clock says whether the lease has expired: those of nodes may differ. An earlier
 * boot of this node is dead for certain, as two servers cannot share a data_dir. */
enum err_code lease_lock(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct lease_row *ret_lease, struct err *err)
{
    static const struct db_statement lock = {
        "lease_lock", "SELECT owner, coalesce(lease_until < clock_timestamp()"
                      "  OR (split_part(owner, '/', 1) = $3 AND owner <> $4), false)"
                      " FROM run_leases WHERE project_id = $1 AND run_id = $2 FOR UPDATE"};
    AUTO_FREE char *node = node_of(db->store->node_id);
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, node);
    db_arg_text(&args, db->store->node_id);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (rc)
        return rc;

    *ret_lease = (struct lease_row){.exists = db_count(rows) > 0};
    if (ret_lease->exists) {
        db_id(rows, 0, 0, ret_lease->owner, sizeof(ret_lease->owner));
        ret_lease->expired = db_bool(rows, 0, 1);
    }
    return ERR_OK;
}

/* log_open: there are frames behind the last stored state. They may have begun an item that no
 * row has yet, so recovery reads them (run/engine/recover.h). */
enum err_code lease_read_log(struct db *db, const struct tenant *tenant, const char *run_id,
                             struct run_load *load, struct err *err)
{
    static const struct db_statement read = {
        "lease_read_log", "SELECT " LEASE_LAST_SEQ ", l.state_seq FROM run_leases l"
                          " WHERE l.project_id = $1 AND l.run_id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    rc = db_exec(db, &read, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_set(err, ERR_INTERNAL, "run %s has no lease", run_id);
    load->next_seq = db_int(rows, 0, 0) + 1;
    load->log_open = db_int(rows, 0, 0) > db_int(rows, 0, 1);
    return ERR_OK;
}

/* The fence grows, also when this node had the lease: from here on a write of the last owner
 * changes nothing. */
enum err_code lease_take(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct run_load *load, struct err *err)
{
    static const struct db_statement take = {
        "lease_take",
        "UPDATE run_leases SET owner = $3, fence = fence + 1, wait_until = NULL,"
        "  lease_until = clock_timestamp() + $4::bigint * interval '1 microsecond'"
        " WHERE project_id = $1 AND run_id = $2 RETURNING fence, " LEASE_UNTIL_US};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, db->store->node_id);
    db_arg_int(&args, db->store->lease_us);
    rc = db_exec(db, &take, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return err_set(err, ERR_INTERNAL, "run %s has no lease", run_id);

    load->fence = db_int(rows, 0, 0);
    load->lease_until = db_int(rows, 0, 1);
    return lease_read_log(db, tenant, run_id, load, err);
}

/* ---- The run ---- */

enum err_code fail_no_run(const char *thread_id, const char *run_id, struct err *err)
{
    if (thread_id)
        return err_set(err, ERR_NOT_FOUND, "No run found with id '%s'.", run_id);
    return err_set(err, ERR_NOT_FOUND, "Response with id '%s' not found.", run_id);
}

/* Used inside transactions and by itself, so it stands here once. */
static const struct db_statement find_statement = {
    "run_find", "SELECT " RUN_COLUMNS " FROM runs r WHERE r.project_id = $1 AND r.id = $2"
                " AND " RUN_MATCHES};

static enum err_code read_found(const struct db_rows *rows, const char *thread_id,
                                const char *run_id, struct run_row *ret_run, struct err *err)
{
    if (db_count(rows) == 0)
        return fail_no_run(thread_id, run_id, err);
    run_read(rows, 0, ret_run);
    return ERR_OK;
}

enum err_code run_find(struct db *db, const struct tenant *tenant, const char *thread_id,
                       const char *run_id, struct run_row *ret_run, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, thread_id);
    rc = db_exec(db, &find_statement, &args, &rows, err);
    if (!rc && db_count(rows) == 0 && thread_id)
        rc = thread_guard_known(db, tenant, thread_id, err);
    if (rc)
        return rc;
    return read_found(rows, thread_id, run_id, ret_run, err);
}

enum err_code store_run_get(struct store *store, const struct tenant *tenant,
                            const char *thread_id, const char *run_id, struct run_row *ret_run,
                            struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_text(&args, thread_id);
    rc = db_once(store, &find_statement, &args, &rows, err);
    if (!rc && db_count(rows) == 0 && thread_id)
        rc = thread_guard_known_once(store, tenant, thread_id, err);
    if (rc)
        return rc;
    return read_found(rows, thread_id, run_id, ret_run, err);
}

/* ---- What belongs to it ---- */

/* Rules before the limit. More than these fit into no model. */
#define RULE_LIMIT 100000

/* The rows come newest first, because of LIMIT. */
static struct item_row *read_reversed(const struct db_rows *rows, size_t *ret_count)
{
    size_t count = db_count(rows);
    struct item_row *items = mem_new_array(struct item_row, count);

    for (size_t i = 0; i < count; i++)
        item_read(rows, count - 1 - i, &items[i]);
    *ret_count = count;
    return items;
}

static enum err_code fetch_items(struct db *db, const struct db_statement *statement,
                                 struct db_args *args, struct item_row **ret_items,
                                 size_t *ret_count, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_exec(db, statement, args, &rows, err);

    if (rc)
        return rc;
    *ret_items = read_reversed(rows, ret_count);
    return ERR_OK;
}

/* How many of the oldest items are beyond the limit. */
static size_t count_beyond(const struct item_row *items, size_t count, const char *own,
                           size_t limit)
{
    size_t history = 0;

    for (size_t i = count; i-- > 0;) {
        bool counts = !*own || strcmp(items[i].run_id, own) != 0;

        if (counts && ++history > limit)
            return i + 1;
    }
    return 0;
}

static size_t count_rules(const struct item_row *items, size_t count)
{
    size_t rules = 0;

    for (size_t i = 0; i < count; i++)
        rules += item_row_is_rule(&items[i]);
    return rules;
}

/* The rules replace the oldest `cut` items. Takes the rules. */
static void replace_oldest(struct item_row **items, size_t *count, size_t cut,
                           struct item_row *rules, size_t rule_count)
{
    size_t kept = *count - cut;

    for (size_t i = 0; i < cut; i++)
        item_row_clear(&(*items)[i]);
    rules = mem_resize(rules, rule_count + kept + 1, sizeof(*rules));
    memcpy(rules + rule_count, *items + cut, kept * sizeof(*rules));
    free(*items);
    *items = rules;
    *count = rule_count + kept;
}

/* The rules before the limit: all but the newest $3. */
#define IS_RULE    "i.type = 'message' AND i.role IN ('system', 'developer')"
#define RULE_RANGE " OFFSET $3 LIMIT $4"

/* Of items beyond the limit only the rules stay. `load_rules` reads those of the thread or chain
 * `id`. Frees the items when it fails. */
static enum err_code cut_to_limit(struct db *db, const struct db_statement *load_rules,
                                  const struct tenant *tenant, const char *id, const char *own,
                                  size_t limit, struct item_row **items, size_t *count,
                                  bool *ret_cut, struct err *err)
{
    size_t cut = count_beyond(*items, *count, own, limit);
    AUTO_DB_ARGS args = {0};
    struct item_row *rules;
    size_t rule_count;
    enum err_code rc;

    *ret_cut = cut;
    if (!cut)
        return ERR_OK;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, (int64_t)count_rules(*items + cut, *count - cut));
    db_arg_int(&args, RULE_LIMIT);
    rc = fetch_items(db, load_rules, &args, &rules, &rule_count, err);
    if (rc) {
        item_rows_free(TAKE(*items), *count);
        *count = 0;
        return rc;
    }
    replace_oldest(items, count, cut, rules, rule_count);
    return ERR_OK;
}

/* The items of a run, which do not count. */
#define OWN_COUNT(run) "(SELECT count(*) FROM items WHERE project_id = $1 AND run_id = " run ")"

/* The place where the last messages begin is looked up once, and nothing before it is read. So
 * a long thread costs only what is wanted of it. */
#define LAST_MESSAGES_BEGIN                                                        \
    "(SELECT m.position FROM items m WHERE m.project_id = $1 AND m.thread_id = $2" \
    "  AND m.left_position IS NULL AND m.type = 'message' AND NOT m.hidden"        \
    "  ORDER BY m.position DESC"                                                   \
    "  OFFSET $4::bigint - 1 LIMIT 1)"

static enum err_code load_newest_of_thread(struct db *db, const struct tenant *tenant,
                                           const char *thread_id, const char *own,
                                           const struct load_span *span,
                                           struct item_row **ret_items, size_t *ret_count,
                                           struct err *err)
{
    static const struct db_statement load = {
        "load_thread_items",
        "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
        " AND i.left_position IS NULL AND i.position >= CASE WHEN $4::bigint > 0"
        "  THEN coalesce(" LAST_MESSAGES_BEGIN ", 0) ELSE 0 END"
        " ORDER BY i.position DESC, i.id DESC LIMIT $3::bigint + 1 + " OWN_COUNT("$5")};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_int(&args, (int64_t)span->items);
    db_arg_int(&args, (int64_t)span->messages);
    db_arg_text(&args, own);
    return fetch_items(db, &load, &args, ret_items, ret_count, err);
}

enum err_code load_thread_items(struct db *db, const struct tenant *tenant,
                                const char *thread_id, const char *own,
                                const struct load_span *span, struct item_row **ret_items,
                                size_t *ret_count, bool *ret_cut, struct err *err)
{
    static const struct db_statement rules = {
        "load_thread_rules",
        "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1 AND i.thread_id = $2"
        " AND i.left_position IS NULL AND " IS_RULE
        " ORDER BY i.position DESC, i.id DESC" RULE_RANGE};
    enum err_code rc =
        load_newest_of_thread(db, tenant, thread_id, own, span, ret_items, ret_count, err);

    return rc ? rc
              : cut_to_limit(db, &rules, tenant, thread_id, own, span->items, ret_items,
                             ret_count, ret_cut, err);
}

/* The items of a response in a conversation that are not the conversation's yet. */
static enum err_code load_own_items(struct db *db, const struct tenant *tenant,
                                    const struct run_row *run, struct item_row **ret_items,
                                    size_t *ret_count, struct err *err)
{
    static const struct db_statement load = {
        "load_own_items", "SELECT " ITEM_COLUMNS " FROM items i WHERE i.project_id = $1"
                          " AND i.run_id = $2 AND i.thread_id IS NULL"
                          " ORDER BY i.position DESC, i.id DESC"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run->id);
    return fetch_items(db, &load, &args, ret_items, ret_count, err);
}

/* The conversation's items, and behind them those that are still the response's own. */
static enum err_code load_conversation_items(struct db *db, const struct tenant *tenant,
                                             const struct run_row *run,
                                             const struct load_span *span,
                                             struct run_load *load, struct err *err)
{
    struct item_row *own = NULL;
    size_t own_count = 0;
    bool cut;
    enum err_code rc = load_own_items(db, tenant, run, &own, &own_count, err);

    if (!rc)
        rc = load_thread_items(db, tenant, run->thread_id, "", span, &load->items,
                               &load->item_count, &cut, err);
    if (rc) {
        item_rows_free(own, own_count);
        return rc;
    }
    load->items =
        mem_resize(load->items, load->item_count + own_count + 1, sizeof(*load->items));
    memcpy(load->items + load->item_count, own, own_count * sizeof(*own));
    load->item_count += own_count;
    free(own);
    return ERR_OK;
}

/* A chain may begin with a response in a conversation. Then the items that were in the
 * conversation before that response come first, also those that were removed since. */
#define WHERE_IT_BEGAN                             \
    "(SELECT min(o.position) FROM items o"         \
    " WHERE o.project_id = $1 AND o.run_id = c.id" \
    " AND o.thread_id = c.thread)"
#define BEFORE_IT                                                              \
    "SELECT * FROM items i WHERE i.project_id = $1 AND i.thread_id = c.thread" \
    "  AND i.position < " WHERE_IT_BEGAN                                       \
    "  AND (i.left_position IS NULL OR i.left_position > " WHERE_IT_BEGAN ")"

/* OFFSET 0 makes each ancestor one access by key. As a join, a plan that was made while the
 * table was small would later read all of it. The items that a cancelled response has made are
 * neither shown nor sent to a model. */
#define CHAIN_ITEMS(deeper, own, before)                                                     \
    "WITH RECURSIVE chain (id, parent, thread, status, depth) AS ("                          \
    "  SELECT r.id, r.parent_run_id, r.thread_id, r.status, 0::bigint FROM runs r"           \
    "  WHERE r.project_id = $1 AND r.id = $2"                                                \
    " UNION ALL"                                                                             \
    "  SELECT p.id, p.parent_run_id, p.thread_id, p.status, c.depth + 1 FROM chain c"        \
    "  CROSS JOIN LATERAL (SELECT r.id, r.parent_run_id, r.thread_id, r.status FROM runs r"  \
    "   WHERE r.project_id = $1 AND r.id = c.parent OFFSET 0) p" deeper ")"                  \
    " SELECT " ITEM_COLUMNS " FROM chain c"                                                  \
    " CROSS JOIN LATERAL (SELECT * FROM items i WHERE i.project_id = $1 AND i.run_id = c.id" \
    "   AND (i.input OR c.status <> 'cancelled')" own " UNION ALL " before " OFFSET 0) i"    \
    " ORDER BY c.depth, i.position DESC, i.id DESC"

/* A response has at least one item, so no chain needs to be followed further than the number of
 * items wanted. */
static enum err_code load_newest_of_chain(struct db *db, const struct tenant *tenant,
                                          const char *run_id, const char *own, size_t limit,
                                          struct item_row **ret_items, size_t *ret_count,
                                          struct err *err)
{
    static const struct db_statement load = {
        "load_chain_items",
        CHAIN_ITEMS(
            " WHERE c.depth <= $3::bigint", "",
            "SELECT * FROM (" BEFORE_IT
            " ORDER BY i.position DESC LIMIT $3::bigint + 1) b") " LIMIT $3::bigint + 1 "
                                                                 "+ " OWN_COUNT("$4")};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    db_arg_int(&args, (int64_t)limit);
    db_arg_text(&args, own);
    return fetch_items(db, &load, &args, ret_items, ret_count, err);
}

/* For its rules, a chain is followed to its beginning. */
enum err_code load_chain_items(struct db *db, const struct tenant *tenant, const char *run_id,
                               const char *own, size_t limit, struct item_row **ret_items,
                               size_t *ret_count, bool *ret_cut, struct err *err)
{
    static const struct db_statement rules = {
        "load_chain_rules",
        CHAIN_ITEMS("", " AND " IS_RULE, BEFORE_IT " AND " IS_RULE) RULE_RANGE};
    enum err_code rc =
        load_newest_of_chain(db, tenant, run_id, own, limit, ret_items, ret_count, err);

    return rc ? rc
              : cut_to_limit(db, &rules, tenant, run_id, own, limit, ret_items, ret_count,
                             ret_cut, err);
}

/* Only open ones: the loop closes them or adds to them. Those that have ended are for lists. */
static enum err_code load_steps(struct db *db, const struct tenant *tenant,
                                struct run_load *load, struct err *err)
{
    static const struct db_statement statement = {
        "load_steps", "SELECT " STEP_COLUMNS " FROM run_steps s WHERE s.project_id = $1"
                      " AND s.run_id = $2 AND s.status = 'in_progress' ORDER BY s.id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, load->run.id);
    rc = db_exec(db, &statement, &args, &rows, err);
    if (rc)
        return rc;
    load->steps = step_rows_read(rows, &load->step_count);
    return ERR_OK;
}

/* Earlier turns are over: the model has their outputs among the items. The turn is part of the
 * key, because models use call ids again. */
enum err_code load_calls(struct db *db, const struct tenant *tenant, const char *run_id,
                         struct call_row **ret_calls, size_t *ret_count, struct err *err)
{
    static const struct db_statement load = {
        "load_calls",
        "SELECT " CALL_COLUMNS " FROM tool_calls c WHERE c.project_id = $1 AND c.run_id = $2"
        " AND c.turn = (SELECT max(turn) FROM tool_calls WHERE project_id = $1 AND run_id = $2)"
        " ORDER BY c.position, c.call_id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, run_id);
    rc = db_exec(db, &load, &args, &rows, err);
    if (rc)
        return rc;
    *ret_calls = call_rows_read(rows, ret_count);
    return ERR_OK;
}

/* The position behind the newest item, which is always among those loaded. The items of a
 * response are its own and numbered from 0, also in a conversation. */
static int64_t position_after(const struct run_load *load)
{
    const struct item_row *last;

    if (load->item_count == 0)
        return 0;
    last = &load->items[load->item_count - 1];
    if (load->run.face == FACE_RESPONSES && strcmp(last->run_id, load->run.id) != 0)
        return 0;
    return last->position + 1;
}

enum err_code load_rest(struct db *db, const struct tenant *tenant,
                        const struct load_span *span, struct run_load *load, struct err *err)
{
    const struct run_row *run = &load->run;
    enum err_code rc;
    bool cut;

    if (run->thread_id[0] && run->face == FACE_RESPONSES)
        rc = load_conversation_items(db, tenant, run, span, load, err);
    else if (run->thread_id[0])
        rc = load_thread_items(db, tenant, run->thread_id, run->id, span, &load->items,
                               &load->item_count, &cut, err);
    else
        rc = load_chain_items(db, tenant, run->id, run->id, span->items, &load->items,
                              &load->item_count, &cut, err);
    if (rc)
        return rc;
    load->next_position = position_after(load);
    rc = load_steps(db, tenant, load, err);
    if (rc)
        return rc;
    return load_calls(db, tenant, run->id, &load->calls, &load->call_count, err);
}
