#include "core/store/variables.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/variable_sql.h"

/* clang-format off */

/* What a chain may see of a response that is in a conversation: as it was when that one ended. */
#define ENDED_AT \
    "coalesce(r.completed_at, r.incomplete_at, r.failed_at, r.cancelled_at, r.created_at)"

/* From a scope up to where its chain begins. OFFSET 0 keeps each step a look-up by key, as in load.c. */
#define FIRST_PARENT(project, scope) \
    "(SELECT r.parent_run_id FROM runs r WHERE r.project_id = " project " AND r.id = " scope \
    " AND r.thread_id IS NULL)"
#define NEXT_UP(project) \
    " CROSS JOIN LATERAL (SELECT coalesce(r.thread_id, r.id) AS scope," \
    "  CASE WHEN r.thread_id IS NULL THEN r.parent_run_id END AS parent," \
    "  CASE WHEN r.thread_id IS NOT NULL THEN " ENDED_AT " END AS upto" \
    "  FROM runs r WHERE r.project_id = " project " AND r.id = u.parent OFFSET 0) p"
#define ROWS_THERE(project, condition) \
    " CROSS JOIN LATERAL (SELECT * FROM variables x WHERE x.project_id = " project \
    "  AND x.scope_id = u.scope AND (u.upto IS NULL OR x.updated_at <= u.upto)" condition \
    "  OFFSET 0) v"

#define UP \
    "WITH RECURSIVE up (scope, parent, upto, depth) AS (" \
    "  SELECT $2::text COLLATE \"C\", " FIRST_PARENT("$1", "$2") ", NULL::bigint, 0" \
    " UNION ALL SELECT p.scope, p.parent, p.upto, u.depth + 1 FROM up u" NEXT_UP("$1") ")"

/* All that scope $2 of project $1 sees. */
#define SEEN(condition) \
    UP ", seen AS (SELECT s.* FROM (SELECT DISTINCT ON (v.name) v.* FROM up u" \
    ROWS_THERE("$1", condition) " ORDER BY v.name, u.depth) s WHERE NOT s.removed)"

/* One of it, under the name $3. */
#define SEEN_ONE \
    UP ", newest AS (SELECT v.* FROM up u" ROWS_THERE("$1", " AND x.name = $3") \
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

/* In the scope's own row, whatever that was before. */
#define OR_REPLACE \
    " ON CONFLICT (project_id, scope_id, name) DO UPDATE SET" \
    "  run_id = excluded.run_id, type = excluded.type, removed = excluded.removed," \
    "  keep = excluded.keep, plain = excluded.plain, value = excluded.value," \
    "  description = excluded.description, tags = excluded.tags, length = excluded.length," \
    "  bytes = excluded.bytes, reads = excluded.reads, created_at = excluded.created_at," \
    "  updated_at = excluded.updated_at, visited_at = excluded.visited_at"

/* A thread forgets; a response has to hide what its ancestors know. */
#define IS_THREAD(scope) "left(" scope ", 7) = 'thread_'"
#define HIDING(scope, name, now) \
    scope ", " name ", NULL, 'USER_ADD', true, false, false, '', NULL, NULL, 0, 0, 0, " \
    now ", " now ", " now

const struct db_statement variables_put = {
    "variables_put",
    INSERT
    " SELECT u.project_id, u.scope_id, u.name, u.owner_run, u.type, false, false, true, u.value,"
    "  u.description, NULL, u.length, octet_length(u.value), 0, u.at, u.at, u.at"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    "  $7::text[], $8::text[], $9::bigint[], $10::bigint[])"
    "  u (project_id, owner_run, fence, scope_id, name, type, value, description, length, at)"
    " WHERE " PUT_FENCE_HOLDS OR_REPLACE};

/* The order in which they are worth keeping: what is kept, what was used last, ... */
const struct db_statement variables_evict = {
    "variables_evict",
    "WITH RECURSIVE target AS (SELECT DISTINCT t.project_id, t.scope"
    "  FROM unnest($1::text[], $2::text[]) t (project_id, scope)),"
    " up (project_id, target, scope, parent, upto, depth) AS ("
    "  SELECT t.project_id, t.scope, t.scope COLLATE \"C\", " FIRST_PARENT("t.project_id", "t.scope")
    ",  NULL::bigint, 0 FROM target t"
    " UNION ALL SELECT u.project_id, u.target, p.scope, p.parent, p.upto, u.depth + 1 FROM up u"
    NEXT_UP("u.project_id") "),"
    " seen AS (SELECT DISTINCT ON (u.project_id, u.target, v.name) u.target, v.*"
    "  FROM up u" ROWS_THERE("u.project_id", "")
    "  ORDER BY u.project_id, u.target, v.name, u.depth),"
    " ranked AS (SELECT s.project_id, s.target, s.name, s.keep, row_number() OVER w AS place,"
    "   sum(s.bytes) OVER w AS total FROM seen s WHERE NOT s.removed"
    "  WINDOW w AS (PARTITION BY s.project_id, s.target ORDER BY s.keep DESC,"
    "   s.visited_at DESC, s.updated_at DESC, s.created_at DESC, s.name"
    "   ROWS UNBOUNDED PRECEDING)),"
    " gone AS (SELECT r.* FROM ranked r WHERE NOT r.keep"
    "  AND (r.place > $3::bigint OR r.total > $4::bigint)),"
    " forgotten AS (DELETE FROM variables x USING gone g WHERE x.project_id = g.project_id"
    "  AND x.scope_id = g.target AND x.name = g.name AND " IS_THREAD("g.target") ")"
    " " INSERT " SELECT g.project_id, " HIDING("g.target", "g.name", "0")
    " FROM gone g WHERE NOT " IS_THREAD("g.target") OR_REPLACE};

/* clang-format on */

void variable_add(struct batch *batch, const struct put_owner *owner, const char *scope,
                  const struct variable *variable)
{
    batch_begin(batch);
    batch_text(batch, owner->project);
    batch_text(batch, owner->run_id);
    batch_int(batch, owner->fence);
    batch_text(batch, scope);
    batch_text(batch, variable->name);
    batch_text(batch, variable_type_name(variable->type));
    batch_text(batch, variable->value);
    batch_text(batch, variable->description);
    batch_int(batch, variable->length);
    batch_int(batch, variable->created_at);
}

static enum err_code not_found(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Variable '%.128s' not found.", name);
}

/* `column` is where the columns begin. */
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

static void arg_scope(struct db_args *args, const char *project, const char *scope)
{
    db_arg_text(args, project);
    db_arg_text(args, scope);
}

/* ---- Reading ---- */

enum err_code store_variable_get(struct store *store, const char *project, const char *scope,
                                 const char *name, enum variable_reading reading,
                                 struct variable *ret_variable, struct err *err)
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

    arg_scope(&args, project, scope);
    db_arg_text(&args, name);
    db_arg_bool(&args, reading == VARIABLE_READ);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &get, &args, &rows, err);
    if (rc)
        return rc;
    if (db_count(rows) == 0)
        return not_found(name, err);
    variable_read(rows, 0, 0, ret_variable);
    return ERR_OK;
}

/* A search is for the text itself: its own wildcards mean nothing. */
#define LIST(direction, order)                                                               \
    SEEN("")                                                                                 \
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

enum err_code store_variable_list(struct store *store, const char *project, const char *scope,
                                  const struct variable_query *query,
                                  struct variable **ret_variables, size_t *ret_count,
                                  int64_t *ret_total, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    size_t count;
    enum err_code rc;

    arg_scope(&args, project, scope);
    db_arg_text(&args, query->type);
    db_arg_text(&args, query->search);
    db_arg_text(&args, query->tag);
    db_arg_text(&args, query->after);
    db_arg_int(&args, query->limit);
    db_arg_int(&args, query->skip);
    rc = db_once(store, &list_statements[query->descending], &args, &rows, err);
    if (rc)
        return rc;
    /* A page without rows is one row that only counts. */
    count = db_is_null(rows, 0, 1) ? 0 : db_count(rows);
    *ret_variables = mem_new_array(struct variable, count + 1);
    for (size_t i = 0; i < count; i++)
        variable_read(rows, i, 1, &(*ret_variables)[i]);
    *ret_count = count;
    *ret_total = db_int(rows, 0, 0);
    return ERR_OK;
}

enum err_code store_variable_stats(struct store *store, const char *project, const char *scope,
                                   struct variable_stats *ret_stats, struct err *err)
{
    static const struct db_statement stats = {
        "store_variable_stats",
        SEEN("") " SELECT s.type, count(*), sum(s.bytes)::bigint,"
                 " count(*) FILTER (WHERE s.keep) FROM seen s GROUP BY s.type"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, project, scope);
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

static enum err_code evict(struct db *db, const char *project, const char *scope,
                           struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_texts(&args, &project, 1);
    db_arg_texts(&args, &scope, 1);
    db_arg_int(&args, VARIABLE_COUNT_LIMIT);
    db_arg_int(&args, VARIABLE_BYTES_LIMIT);
    return db_exec(db, &variables_evict, &args, NULL, err);
}

static void arg_keep(struct db_args *args, const bool *keep)
{
    if (keep)
        db_arg_bool(args, *keep);
    else
        db_arg_text(args, NULL);
}

static enum err_code upsert(struct db *db, const char *project, const char *scope,
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

    arg_scope(&args, project, scope);
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

static enum err_code check_kept(struct db *db, const char *project, const char *scope,
                                struct err *err)
{
    static const struct db_statement count = {
        "store_variable_kept", SEEN("") " SELECT count(*) FROM seen s WHERE s.keep"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, project, scope);
    rc = db_exec(db, &count, &args, &rows, err);
    if (!rc && db_int(rows, 0, 0) > VARIABLE_KEEP_LIMIT)
        return err_invalid(err, "invalid_value", "keep",
                           "Invalid 'keep': at most %d variables can be kept.",
                           VARIABLE_KEEP_LIMIT);
    return rc;
}

static enum err_code explain_nothing(const struct variable_change *change,
                                     enum variable_put how, struct err *err)
{
    if (how == VARIABLE_CREATE && change->value)
        return err_set(err, ERR_CONFLICT, "Variable '%.128s' exists already.", change->name);
    if (how == VARIABLE_UPDATE)
        return not_found(change->name, err);
    return err_invalid(err, "missing_required_parameter", "value",
                       "Variable '%.128s' does not exist; a new one needs a value.",
                       change->name);
}

enum err_code store_variable_put(struct store *store, const char *project, const char *scope,
                                 const struct variable_change *change, enum variable_put how,
                                 bool *ret_created, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = upsert(db, project, scope, change, how, &rows, err);
    if (!rc && db_count(rows) == 0)
        rc = explain_nothing(change, how, err);
    if (!rc && change->keep && *change->keep)
        rc = check_kept(db, project, scope, err);
    if (!rc)
        rc = evict(db, project, scope, err);
    if (!rc)
        rc = db_commit(db, err);
    if (!rc)
        *ret_created = db_bool(rows, 0, 0);
    return rc;
}

enum err_code store_variables_remove(struct store *store, const char *project,
                                     const char *scope, const char *const *names, size_t count,
                                     const char *type, json_t **ret_removed, struct err *err)
{
    static const struct db_statement remove = {
        "store_variables_remove",
        SEEN(" AND ($3::text[] IS NULL OR x.name = ANY "
             "($3))") ", gone AS (SELECT s.name FROM seen s "
                      "WHERE NOT s.keep"
                      "   AND ($4::text IS NULL OR s.type = "
                      "$4)),"
                      " forgotten AS (DELETE FROM variables "
                      "x USING gone g WHERE x.project_id = "
                      "$1"
                      "   AND x.scope_id = $2 AND x.name = "
                      "g.name AND " IS_THREAD(
                          "$2") "),"
                                " hidden AS (" INSERT " SELECT $1, " HIDING(
                                    "$2", "g.name", "$5::bigint") "   FROM "
                                                                  "gone g "
                                                                  "WHERE "
                                                                  "NOT"
                                                                  " " IS_THREAD("$2") OR_REPLACE
        ")"
        " SELECT g.name FROM gone g ORDER BY g.name"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    arg_scope(&args, project, scope);
    if (names)
        db_arg_texts(&args, names, count);
    else
        db_arg_text(&args, NULL);
    db_arg_text(&args, type);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &remove, &args, &rows, err);
    if (rc)
        return rc;
    *ret_removed = json_array();
    for (size_t i = 0; i < db_count(rows); i++)
        json_array_append_new(*ret_removed, json_string(db_text(rows, i, 0)));
    return ERR_OK;
}

/* ---- From thread to thread ---- */

static enum err_code exec_copy(struct db *db, const struct db_statement *statement,
                               const char *project, const char *to, const char *from,
                               struct err *err)
{
    AUTO_DB_ARGS args = {0};

    arg_scope(&args, project, to);
    if (from)
        db_arg_text(&args, from);
    return db_exec(db, statement, &args, NULL, err);
}

enum err_code variables_merge(struct db *db, const char *project, const char *to,
                              const char *from, struct err *err)
{
    static const struct db_statement copy = {
        "variables_merge",
        INSERT " SELECT project_id, $2, name, run_id, type, removed, keep, plain, value,"
               "  description, tags, length, bytes, reads, created_at, updated_at, visited_at"
               " FROM variables WHERE project_id = $1 AND scope_id = $3"
               " ON CONFLICT (project_id, scope_id, name) DO NOTHING"};
    enum err_code rc = exec_copy(db, &copy, project, to, from, err);

    return rc ? rc : evict(db, project, to, err);
}

enum err_code variables_copy(struct db *db, const char *project, const char *to,
                             const char *from, struct err *err)
{
    static const struct db_statement empty = {
        "variables_empty", "DELETE FROM variables WHERE project_id = $1 AND scope_id = $2"};
    enum err_code rc = exec_copy(db, &empty, project, to, NULL, err);

    return rc ? rc : variables_merge(db, project, to, from, err);
}
