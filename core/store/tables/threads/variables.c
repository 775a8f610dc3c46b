/*
 * The variables of a scope: a thread, or a response outside conversations.
 *
 * A response sees the variables of its ancestors. They are not copied to it, which would cost as
 * much as all of them for each response. Instead the statements go up the chain. They are built
 * of macros, each a named step (a CTE):
 *
 *   target    the scopes that are asked for: one, or several of a group commit
 *   up        from each target through its parents. `upto` is set where a chain began in a
 *             conversation: what was written there later belongs to another branch
 *   met       the rows of all these scopes
 *   nearest   for each name the nearest row; `above` says that an ancestor has the name as well
 *   seen      without those that were removed: a row that hides an ancestor's
 *
 * SEEN is all of that, SEEN_ONE the same for one name, which stops where the name is found. Both
 * end after VARIABLE_CHAIN_LIMIT scopes or VARIABLE_ROWS_LIMIT rows, so the length of a chain
 * does not make reading ever slower.
 *
 * Writing touches the scope's own rows only. So branches stay apart, and deleting a response
 * takes its own variables and no other's.
 *
 * Locks, in this order: the row of the thread or run (lock_owner(), changes by clients and
 * models), then the scope. The scope's is an advisory lock, because there is nothing else to
 * lock: a new variable has no row, and the limits concern all rows together. Two changes of one
 * scope are therefore one after the other, and the second counts what the first has stored.
 *
 * Limits are applied after each change. Variables beyond them are evicted, the longest unused
 * first; those marked as kept never are. Reading a variable counts as use, so it updates the
 * row, without any lock but the row's own.
 */

#include "core/store/tables/threads/variables.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/tables/runs/load.h"
#include "core/store/tables/threads/thread_guard.h"
#include "core/store/tables/threads/variable_sql.h"

/* clang-format off */

/* A number of a header as text for a statement. */
#define DIGITS(number)  #number
#define AS_TEXT(number) DIGITS(number)

/*
 * Locks scopes. Every change of a scope holds this lock, so that two of them neither wait for
 * each other's rows nor exceed the limits together. Several scopes are locked in the order of
 * their keys. A statement of its own: the next one then sees what the last holder did.
 */
#define SCOPE_KEY(project, scope) "hashtextextended(" project " || ' ' || " scope ", 0)"

const struct db_statement variables_lock = {
    "variables_lock",
    "SELECT pg_advisory_xact_lock(k.key) FROM (SELECT DISTINCT"
    "  " SCOPE_KEY("t.project_id", "t.scope") " AS key"
    "  FROM unnest($1::text[], $2::text[]) t (project_id, scope) ORDER BY key) k"};

/* The variables of a response in a conversation that a chain may see: as they were when that
 * response ended. */
#define ENDED_AT \
    "coalesce(r.completed_at, r.incomplete_at, r.failed_at, r.cancelled_at, r.created_at)"

/* From a scope up to the beginning of its chain. OFFSET 0 makes each step one access by key, as
 * in load.c. */
#define FIRST_PARENT(project, scope) \
    "(SELECT r.parent_run_id FROM runs r WHERE r.project_id = " project " AND r.id = " scope \
    " AND r.thread_id IS NULL)"
#define ROW_COUNT(project, scope) \
    "(SELECT count(*) FROM variables x WHERE x.project_id = " project \
    " AND x.scope_id = " scope ")"
#define NEXT_UP \
    " CROSS JOIN LATERAL (SELECT coalesce(r.thread_id, r.id) AS scope," \
    "  CASE WHEN r.thread_id IS NULL THEN r.parent_run_id END AS parent," \
    "  CASE WHEN r.thread_id IS NOT NULL THEN " ENDED_AT " END AS upto" \
    "  FROM runs r WHERE r.project_id = u.project_id AND r.id = u.parent OFFSET 0) p"
#define IS_THERE \
    "x.project_id = u.project_id AND x.scope_id = u.scope" \
    " AND (u.upto IS NULL OR x.updated_at <= u.upto)"
#define ROWS_THERE(condition) \
    " CROSS JOIN LATERAL (SELECT * FROM variables x WHERE " IS_THERE condition " OFFSET 0) v"

/* Scope $2 of project $1, or several, as two arrays. */
#define ONE "SELECT $1::text COLLATE \"C\", $2::text COLLATE \"C\""
#define MANY \
    "SELECT DISTINCT t.project_id COLLATE \"C\", t.scope COLLATE \"C\"" \
    "  FROM unnest($1::text[], $2::text[]) t (project_id, scope)"

#define UP(targets, unless) \
    "WITH RECURSIVE target (project_id, scope) AS (" targets ")," \
    " up (project_id, target, scope, parent, upto, depth, rows_met) AS (" \
    "  SELECT t.project_id, t.scope, t.scope, " FIRST_PARENT("t.project_id", "t.scope") "," \
    "   NULL::bigint, 1, " ROW_COUNT("t.project_id", "t.scope") " FROM target t" \
    " UNION ALL SELECT u.project_id, u.target, p.scope, p.parent, p.upto, u.depth + 1," \
    "   u.rows_met + " ROW_COUNT("u.project_id", "p.scope") " FROM up u" NEXT_UP \
    "  WHERE u.depth < " AS_TEXT(VARIABLE_CHAIN_LIMIT) \
    "   AND u.rows_met < " AS_TEXT(VARIABLE_ROWS_LIMIT) unless ")"

/* All variables that the targets see. `above`: an ancestor has a row under the same name, too. */
#define SEEN(targets, condition) \
    UP(targets, "") ", met AS (SELECT u.target, u.depth, v.* FROM up u" ROWS_THERE(condition) ")," \
    " nearest AS (SELECT DISTINCT ON (m.project_id, m.target, m.name) m.*," \
    "   max(m.depth) OVER (PARTITION BY m.project_id, m.target, m.name) > 1 AS above" \
    "  FROM met m ORDER BY m.project_id, m.target, m.name, m.depth)," \
    " seen AS (SELECT n.* FROM nearest n WHERE NOT n.removed)"

/* One of them, with the name $3: goes up no further than where it is. */
#define SEEN_ONE \
    UP(ONE, " AND NOT EXISTS (SELECT FROM variables x WHERE " IS_THERE " AND x.name = $3)") \
    ", newest AS (SELECT v.* FROM up u" ROWS_THERE(" AND x.name = $3") \
    "  ORDER BY u.depth LIMIT 1)," \
    " seen AS (SELECT n.* FROM newest n WHERE NOT n.removed)"

#define COLUMNS \
    "name, type, keep, plain, value, description, tags, length, bytes, reads, created_at," \
    " updated_at, visited_at"
#define LISTED \
    "name, type, keep, plain, NULL, description, tags, length, bytes, reads, created_at," \
    " updated_at, visited_at"

#define INSERT \
    "INSERT INTO variables (project_id, scope_id, name, run_id, type, removed, keep, plain," \
    " value, description, tags, length, bytes, reads, created_at, updated_at, visited_at)"

/* Writes the scope's own row, whatever that was before. */
#define OR_REPLACE \
    " ON CONFLICT (project_id, scope_id, name) DO UPDATE SET" \
    "  run_id = excluded.run_id, type = excluded.type, removed = excluded.removed," \
    "  keep = excluded.keep, plain = excluded.plain, value = excluded.value," \
    "  description = excluded.description, tags = excluded.tags, length = excluded.length," \
    "  bytes = excluded.bytes, reads = excluded.reads, created_at = excluded.created_at," \
    "  updated_at = excluded.updated_at, visited_at = excluded.visited_at"

/* A removed variable is deleted, or hidden if an ancestor has one of that name. */
#define FORGET_OR_HIDE(now) \
    " forgotten AS (DELETE FROM variables x USING gone g WHERE x.project_id = g.project_id" \
    "  AND x.scope_id = g.target AND x.name = g.name AND NOT g.above)," \
    " hidden AS (" INSERT \
    "  SELECT g.project_id, g.target, g.name, NULL, 'USER_ADD', true, false, false, ''," \
    "   NULL, NULL, 0, 0, 0, " now ", " now ", " now " FROM gone g WHERE g.above" OR_REPLACE ")"

const struct db_statement variables_upsert = {
    "variables_upsert",
    INSERT
    " SELECT u.project_id, u.scope_id, u.name, u.owner_run, u.type, false, false, u.plain, u.value,"
    "  u.description, u.tags, u.length, octet_length(u.value), 0, u.at, u.at, u.at"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    "  $7::boolean[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])"
    "  u (project_id, owner_run, fence, scope_id, name, type, plain, value, description, tags,"
    "   length, at)"
    " WHERE " UPSERT_FENCE_HOLDS OR_REPLACE};

/* The order in which variables are worth keeping: those marked as kept, then the last used, ... */
const struct db_statement variables_evict = {
    "variables_evict",
    SEEN(MANY, "")
    ", ranked AS (SELECT s.project_id, s.target, s.name, s.keep, s.above,"
    "   row_number() OVER w AS place, sum(s.bytes) OVER w AS total FROM seen s"
    "  WINDOW w AS (PARTITION BY s.project_id, s.target ORDER BY s.keep DESC,"
    "   s.visited_at DESC, s.updated_at DESC, s.created_at DESC, s.name"
    "   ROWS UNBOUNDED PRECEDING)),"
    " gone AS (SELECT r.* FROM ranked r WHERE NOT r.keep"
    "  AND (r.place > $3::bigint OR r.total > $4::bigint)),"
    FORGET_OR_HIDE("0") " SELECT count(*) FROM gone"};

/* clang-format on */

void variable_add(struct batch *batch, const struct row_owner *owner, const char *scope,
                  const struct variable *variable)
{
    AUTO_FREE char *tags = variable->tags ? json_text(variable->tags) : NULL;

    batch_begin(batch);
    batch_tenant(batch, owner->tenant);
    batch_text(batch, owner->run_id);
    batch_int(batch, owner->fence);
    batch_text(batch, scope);
    batch_text(batch, variable->name);
    batch_text(batch, variable_type_name(variable->type));
    batch_bool(batch, variable->plain);
    batch_text(batch, variable->value);
    batch_text(batch, variable->description);
    batch_text(batch, tags);
    batch_int(batch, variable->length);
    batch_int(batch, variable->created_at);
}

/* `column` is the first of its columns. */
static void variable_read(const struct db_rows *rows, size_t row, int column,
                          struct variable *ret_variable)
{
    *ret_variable = (struct variable){
        .keep = db_bool(rows, row, column + 2),
        .plain = db_bool(rows, row, column + 3),
        .value = db_copy(rows, row, column + 4),
        .description = db_copy(rows, row, column + 5),
        .length = db_int(rows, row, column + 7),
        .bytes = db_int(rows, row, column + 8),
        .reads = db_int(rows, row, column + 9),
        .created_at = db_int(rows, row, column + 10),
        .updated_at = db_int(rows, row, column + 11),
        .visited_at = db_int(rows, row, column + 12),
    };
    db_id(rows, row, column, ret_variable->name, sizeof(ret_variable->name));
    (void)variable_type_parse(db_text(rows, row, column + 1), &ret_variable->type);
    if (!db_is_null(rows, row, column + 6))
        ret_variable->tags = json_parse_own(db_text(rows, row, column + 6));
}

static void arg_scope(struct db_args *args, const struct tenant *tenant, const char *scope)
{
    db_arg_tenant(args, tenant);
    db_arg_text(args, scope);
}

/* ---- Reading ---- */

/* What is read may be an ancestor's row, and its use is noted there: it is one variable for all
 * that see it. */
enum err_code store_variable_get(struct store *store, const struct tenant *tenant,
                                 const char *scope, const char *name,
                                 enum variable_reading reading, struct variable *ret_variable,
                                 struct err *err)
{
    static const struct db_statement get = {
        "store_variable_get",
        SEEN_ONE ", noted AS (UPDATE variables x SET visited_at = $5, reads = x.reads + 1"
                 "  FROM seen s WHERE $4 AND x.project_id = $1 AND x.scope_id = s.scope_id"
                 "  AND x.name = $3)"
                 " SELECT " COLUMNS " FROM seen"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, tenant, scope);
    db_arg_text(&args, name);
    db_arg_bool(&args, reading == VARIABLE_READ);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &get, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return variable_not_found(name, err);
    variable_read(rows, 0, 0, ret_variable);
    return ERR_OK;
}

/* A search is for the text itself, so its wildcards are escaped. */
#define LIST(direction, order)                                                               \
    SEEN(ONE, "")                                                                            \
    ", hits AS (SELECT * FROM seen s WHERE ($3::text IS NULL OR s.type = $3)"                \
    "  AND ($4::text IS NULL OR strpos(lower(s.name), lower($4)) > 0"                        \
    "   OR strpos(lower(coalesce(s.description, '')), lower($4)) > 0)"                       \
    "  AND ($5::text IS NULL OR coalesce(s.tags, '[]')::jsonb ? $5))"                        \
    " SELECT t.total, l.* FROM (SELECT count(*) AS total FROM hits) t"                       \
    " LEFT JOIN (SELECT " LISTED " FROM hits h WHERE ($6::text IS NULL OR h.name " direction \
    " $6) ORDER BY h.name " order " LIMIT $7 OFFSET $8) l ON true"                           \
    " ORDER BY l.name " order

static const struct db_statement list_statements[] = {
    {"store_variable_list_up", LIST(">", "ASC")},
    {"store_variable_list_down", LIST("<", "DESC")},
};

enum err_code store_variable_list(struct store *store, const struct tenant *tenant,
                                  const char *scope, const struct variable_query *query,
                                  struct variable **ret_variables, size_t *ret_count,
                                  int64_t *ret_total, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    size_t count;
    enum err_code rc;

    arg_scope(&args, tenant, scope);
    db_arg_text(&args, query->type);
    db_arg_text(&args, query->search);
    db_arg_text(&args, query->tag);
    db_arg_text(&args, query->after);
    db_arg_int(&args, query->limit);
    db_arg_int(&args, query->skip);
    rc = db_once(store, &list_statements[query->descending], &args, &rows, err);
    if (rc)
        return rc;
    /* A page without rows is one row with the count. */
    count = db_is_null(rows, 0, 1) ? 0 : db_count(rows);
    *ret_variables = mem_new_array(struct variable, count + 1);
    for (size_t i = 0; i < count; i++)
        variable_read(rows, i, 1, &(*ret_variables)[i]);
    *ret_count = count;
    *ret_total = db_int(rows, 0, 0);
    return ERR_OK;
}

enum err_code store_variable_stats(struct store *store, const struct tenant *tenant,
                                   const char *scope, struct variable_stats *ret_stats,
                                   struct err *err)
{
    static const struct db_statement stats = {
        "store_variable_stats",
        SEEN(ONE, "") " SELECT s.type, count(*), sum(s.bytes)::bigint,"
                      " count(*) FILTER (WHERE s.keep) FROM seen s GROUP BY s.type"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, tenant, scope);
    rc = db_once(store, &stats, &args, &rows, err);
    if (rc)
        return rc;
    *ret_stats = (struct variable_stats){0};
    for (size_t i = 0; i < db_count(rows); i++) {
        enum variable_type type = VARIABLE_USER_ADD;

        (void)variable_type_parse(db_text(rows, i, 0), &type);
        ret_stats->count[type] = db_int(rows, i, 1);
        ret_stats->bytes += db_int(rows, i, 2);
        ret_stats->kept += db_int(rows, i, 3);
    }
    return ERR_OK;
}

/* ---- Writing ---- */

/*
 * Deleting a thread or a response deletes its variables in the same transaction. So that none
 * is added after that, clients and models change variables only while they hold a lock on the
 * row that would be deleted. It comes before the lock of the scope, as everywhere. One holder
 * at a time: with a shared lock, a steady stream of changes would keep the deletion waiting for
 * ever.
 */
static enum err_code lock_owner(struct db *db, const struct tenant *tenant, const char *scope,
                                struct err *err)
{
    static const struct db_statement lock_thread = {
        "variables_lock_thread",
        "SELECT 1 FROM threads WHERE project_id = $1 AND id = $2 FOR NO KEY UPDATE"};
    static const struct db_statement lock_run = {
        "variables_lock_run", "SELECT 1 FROM runs WHERE project_id = $1 AND id = $2"
                              " AND deleted_at IS NULL FOR NO KEY UPDATE"};
    bool is_thread = id_has_prefix(scope, "thread_");
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, tenant, scope);
    rc = db_exec(db, is_thread ? &lock_thread : &lock_run, &args, &rows, err);
    if (rc || db_count(rows))
        return rc;
    return is_thread ? thread_guard_unknown(scope, err) : fail_no_run(NULL, scope, err);
}

/* The steps before and after the change of a scope. */
enum err_code variables_lock_scope(struct db *db, const struct tenant *tenant,
                                   const char *scope, struct err *err)
{
    const char *project = tenant->project;
    AUTO_DB_ARGS args = {0};

    db_arg_texts(&args, &project, 1);
    db_arg_texts(&args, &scope, 1);
    return db_exec(db, &variables_lock, &args, NULL, err);
}

enum err_code variables_evict_scope(struct db *db, const struct tenant *tenant,
                                    const char *scope, struct err *err)
{
    const char *project = tenant->project;
    AUTO_DB_ARGS args = {0};

    db_arg_texts(&args, &project, 1);
    db_arg_texts(&args, &scope, 1);
    db_arg_int(&args, VARIABLE_COUNT_LIMIT);
    db_arg_int(&args, VARIABLE_BYTES_LIMIT);
    return db_exec(db, &variables_evict, &args, NULL, err);
}

enum err_code variables_add(struct db *db, const struct row_owner *owner, const char *scope,
                            const struct variable *variables, size_t count, struct err *err)
{
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    if (!count)
        return ERR_OK;
    for (size_t i = 0; i < count; i++)
        variable_add(&batch, owner, scope, &variables[i]);
    batch_finish(&batch, &args);
    rc = variables_lock_scope(db, owner->tenant, scope, err);
    if (!rc)
        rc = db_exec(db, &variables_upsert, &args, NULL, err);
    return rc ? rc : variables_evict_scope(db, owner->tenant, scope, err);
}

static void arg_keep(struct db_args *args, const bool *keep)
{
    if (keep)
        db_arg_bool(args, *keep);
    else
        db_arg_text(args, NULL);
}

/* One statement for creating, changing and both. It starts from what the scope sees, so changing
 * an ancestor's variable makes a row of the scope's own with the changed fields and the rest of
 * the ancestor's. No row comes back if `how` does not allow it, or if a new variable would have
 * no value. */
static enum err_code upsert(struct db *db, const struct tenant *tenant, const char *scope,
                            const struct variable_change *change, enum variable_put how,
                            struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement put = {
        "store_variable_put", SEEN_ONE
        " " INSERT " SELECT $1, $2, $3, $4, coalesce(s.type, $5), false,"
        "  coalesce($6::boolean, s.keep, false),"
        "  CASE WHEN $7::text IS NULL THEN coalesce(s.plain, false) ELSE $8::boolean END,"
        "  coalesce($7, s.value), coalesce($9, s.description), coalesce($10, s.tags),"
        "  char_length(coalesce($7, s.value)), octet_length(coalesce($7, s.value)),"
        "  coalesce(s.reads, 0), coalesce(s.created_at, $11::bigint), $11, $11"
        " FROM (SELECT 1) one LEFT JOIN seen s ON true"
        " WHERE (s.name IS NOT NULL OR $7 <> '')"
        "  AND ($12::bigint <> 1 OR s.name IS NULL)"
        "  AND ($12::bigint <> 2 OR s.name IS NOT NULL)" OR_REPLACE
        " RETURNING (SELECT count(*) = 0 FROM seen)"};
    AUTO_FREE char *tags = change->tags ? json_text(change->tags) : NULL;
    AUTO_DB_ARGS args = {0};

    arg_scope(&args, tenant, scope);
    db_arg_text(&args, change->name);
    db_arg_text(&args, change->run_id);
    db_arg_text(&args, variable_type_name(change->type));
    arg_keep(&args, change->keep);
    db_arg_text(&args, change->value);
    db_arg_bool(&args, change->plain);
    db_arg_text(&args, change->description);
    db_arg_text(&args, tags);
    db_arg_int(&args, clock_wall_us());
    db_arg_int(&args, how == VARIABLE_CREATE ? 1 : how == VARIABLE_UPDATE ? 2 : 0);
    return db_exec(db, &put, &args, ret_rows, err);
}

/* After the change, under the lock of the scope. The rollback undoes what is too much. */
static enum err_code check_kept(struct db *db, const struct tenant *tenant, const char *scope,
                                struct err *err)
{
    static const struct db_statement count = {
        "store_variable_kept", SEEN(ONE, "") " SELECT count(*) FROM seen s WHERE s.keep"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, tenant, scope);
    rc = db_exec(db, &count, &args, &rows, err);
    if (!rc && db_int(rows, 0, 0) > VARIABLE_KEEP_LIMIT)
        return variable_keeps_too_many(err);
    return rc;
}

enum err_code store_variable_put(struct store *store, const struct tenant *tenant,
                                 const char *scope, const struct variable_change *change,
                                 enum variable_put how, bool *ret_created, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_owner(db, tenant, scope, err);
    if (!rc)
        rc = variables_lock_scope(db, tenant, scope, err);
    if (!rc)
        rc = upsert(db, tenant, scope, change, how, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = variable_not_put(change, how, err);
    if (!rc && change->keep && *change->keep)
        rc = check_kept(db, tenant, scope, err);
    if (!rc)
        rc = variables_evict_scope(db, tenant, scope, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        *ret_created = db_bool(rows, 0, 0);
    return rc;
}

/* clang-format off */
static const struct db_statement remove_statement = {
    "store_variables_remove",
    SEEN(ONE, " AND ($3::text[] IS NULL OR x.name = ANY ($3))")
    ", gone AS (SELECT s.project_id, s.target, s.name, s.above FROM seen s"
    "  WHERE NOT s.keep AND ($4::text IS NULL OR s.type = $4)),"
    FORGET_OR_HIDE("$5::bigint") " SELECT g.name FROM gone g ORDER BY g.name"};
/* clang-format on */

enum err_code store_variables_remove(struct store *store, const struct tenant *tenant,
                                     const char *scope, const char *const *names, size_t count,
                                     const char *type, json_t **ret_removed, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    arg_scope(&args, tenant, scope);
    if (names)
        db_arg_texts(&args, names, count);
    else
        db_arg_text(&args, NULL);
    db_arg_text(&args, type);
    db_arg_int(&args, clock_wall_us());
    if (!rc)
        rc = lock_owner(db, tenant, scope, err);
    if (!rc)
        rc = variables_lock_scope(db, tenant, scope, err);
    if (!rc)
        rc = db_exec(db, &remove_statement, &args, &rows, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        return rc;
    *ret_removed = json_array();
    for (size_t i = 0; i < db_count(rows); i++)
        json_array_append_new(*ret_removed, json_string(db_text(rows, i, 0)));
    return ERR_OK;
}

/* ---- All of a scope ---- */

/* Copies the variables whose names are free, in order of use. They are marked as kept while
 * there is room for kept ones. */
static enum err_code merge(struct db *db, const struct tenant *tenant, const char *to,
                           const char *from, struct err *err)
{
    static const struct db_statement copy = {
        "variables_merge",
        INSERT " SELECT f.project_id, $2, f.name, f.run_id, f.type, f.removed, f.keep AND"
               "  row_number() OVER (PARTITION BY f.keep ORDER BY f.visited_at DESC, f.name)"
               "   <= $4::bigint - (SELECT count(*) FROM variables k"
               "    WHERE k.project_id = $1 AND k.scope_id = $2 AND k.keep),"
               "  f.plain, f.value, f.description, f.tags, f.length, f.bytes, f.reads,"
               "  f.created_at, f.updated_at, f.visited_at"
               " FROM variables f WHERE f.project_id = $1 AND f.scope_id = $3"
               "  AND NOT EXISTS (SELECT FROM variables t WHERE t.project_id = $1"
               "   AND t.scope_id = $2 AND t.name = f.name)"};
    AUTO_DB_ARGS args = {0};

    arg_scope(&args, tenant, to);
    db_arg_text(&args, from);
    db_arg_int(&args, VARIABLE_KEEP_LIMIT);
    return db_exec(db, &copy, &args, NULL, err);
}

enum err_code variables_merge(struct db *db, const struct tenant *tenant, const char *to,
                              const char *from, struct err *err)
{
    enum err_code rc = variables_lock_scope(db, tenant, to, err);

    if (!rc)
        rc = merge(db, tenant, to, from, err);
    return rc ? rc : variables_evict_scope(db, tenant, to, err);
}

enum err_code variables_forget(struct db *db, const struct tenant *tenant, const char *scope,
                               struct err *err)
{
    static const struct db_statement forget = {
        "variables_forget", "DELETE FROM variables WHERE project_id = $1 AND scope_id = $2"};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = variables_lock_scope(db, tenant, scope, err);

    arg_scope(&args, tenant, scope);
    return rc ? rc : db_exec(db, &forget, &args, NULL, err);
}

enum err_code variables_copy(struct db *db, const struct tenant *tenant, const char *to,
                             const char *from, struct err *err)
{
    enum err_code rc = variables_forget(db, tenant, to, err);

    return rc ? rc : variables_merge(db, tenant, to, from, err);
}
