/*
 * Answers that are remembered.
 *
 * A grant says: for calls like this, the answer is yes (or no). Four things make it fit a call:
 *
 *   where       the run, its thread or the responses before it, its assistant, its user
 *   which tool  by the hash of its definition at the time of the answer. A tool whose definition
 *               has changed is another tool, and nobody has agreed to that one
 *   which call  exactly these arguments, or the tool whatever its arguments, or a pattern
 *   how long    expires_at
 *
 * Among several that fit, the most specific one counts, see FITS and the ORDER BY of
 * store_grants_find: arguments before patterns before the whole tool, then the nearest place,
 * then the longest pattern, and of two equals the refusal.
 *
 * A chain of responses works like the variables of a chain (variables.c). Each response has its
 * own scope, and looks up through its parents. When the chain began in a conversation, it sees
 * the grants that the conversation had when that response ended (`upto`), because a later answer
 * there belongs to another branch.
 *
 * Another answer to the same question replaces the grant: place, tool and match are a unique
 * key. So there is no history to interpret, and the table grows with what people have said, not
 * with calls.
 *
 * A loop cannot wait for the store, so a tool worker looks up all calls of a turn with one
 * statement.
 */

#include "core/store/tables/approvals/grants.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/page.h"
#include "core/store/tables/approvals/grant_sql.h"

/* clang-format off */

#define GRANT_COLUMNS \
    "g.id, g.scope, g.scope_id, g.tool, g.match, g.match_key, g.type, g.definition, g.approve," \
    " g.said, g.reason, g.approval_id, g.created_at, g.expires_at"

/* With the face of the question that was answered. */
#define GRANT_SHOWN \
    GRANT_COLUMNS ", EXISTS (SELECT FROM approvals a WHERE a.project_id = g.project_id" \
    "  AND a.id = g.approval_id AND starts_with(a.run_id, 'resp_'))"

#define SAME_THING "scope, scope_id, tool, match, match_key, type"

/* DISTINCT ON, because one INSERT may not touch a row twice. false sorts before true: the
 * refusal is kept. */
const struct db_statement grants_upsert = {
    "grants_upsert",
    "INSERT INTO approval_grants (project_id, id, " SAME_THING ", definition, approve, said,"
    " reason, approval_id, created_at, expires_at)"
    " SELECT DISTINCT ON (u.project_id, " SAME_THING ") u.project_id, u.id, " SAME_THING ","
    "  u.definition, u.approve, u.said, u.reason, u.approval_id, u.created_at, u.expires_at"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],"
    "  $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bool[], $13::bool[],"
    "  $14::text[], $15::text[], $16::bigint[], $17::bigint[])"
    "  u (project_id, owner_run, fence, id, " SAME_THING ", definition, approve, said, reason,"
    "     approval_id, created_at, expires_at)"
    " WHERE " UPSERT_FENCE_HOLDS
    " ORDER BY u.project_id, " SAME_THING ", u.approve"
    " ON CONFLICT ON CONSTRAINT approval_grants_one DO UPDATE SET"
    "  id = excluded.id, definition = excluded.definition, approve = excluded.approve,"
    "  said = excluded.said, reason = excluded.reason, approval_id = excluded.approval_id,"
    "  created_at = excluded.created_at, expires_at = excluded.expires_at"};

/* clang-format on */

void grant_add(struct batch *batch, const struct row_owner *owner,
               const struct grant_row *grant)
{
    batch_begin(batch);
    batch_tenant(batch, owner->tenant);
    batch_text(batch, owner->run_id);
    batch_int(batch, owner->fence);
    batch_text(batch, grant->id);
    batch_text(batch, grant->scope);
    batch_text(batch, grant->scope_id);
    batch_text(batch, grant->tool);
    batch_text(batch, grant->match);
    batch_text(batch, grant->match_key);
    batch_text(batch, grant->type);
    batch_text(batch, grant->definition);
    batch_bool(batch, grant->approve);
    batch_bool(batch, grant->said);
    batch_text(batch, grant->reason);
    batch_text(batch, grant->approval_id);
    batch_int(batch, grant->created_at);
    batch_time(batch, grant->expires_at);
}

/* Reads a grant, from the column `first` on. */
static void grant_read(const struct db_rows *rows, size_t row, int first,
                       struct grant_row *ret_grant)
{
    *ret_grant = (struct grant_row){
        .scope = db_copy(rows, row, first + 1),
        .scope_id = db_copy(rows, row, first + 2),
        .tool = db_copy(rows, row, first + 3),
        .match = db_copy(rows, row, first + 4),
        .match_key = db_copy(rows, row, first + 5),
        .type = db_copy(rows, row, first + 6),
        .definition = db_copy(rows, row, first + 7),
        .approve = db_bool(rows, row, first + 8),
        .said = db_bool(rows, row, first + 9),
        .reason = db_copy(rows, row, first + 10),
        .created_at = db_int(rows, row, first + 12),
        .expires_at = db_is_null(rows, row, first + 13) ? 0 : db_int(rows, row, first + 13),
    };
    db_id(rows, row, first, ret_grant->id, sizeof(ret_grant->id));
    db_id(rows, row, first + 11, ret_grant->approval_id, sizeof(ret_grant->approval_id));
}

/* ---- Finding ---- */

/* clang-format off */

/* A chain is followed only as far as it may matter. */
#define CHAIN_LIMIT "1000"

/* The scopes where a run looks for grants, the nearest first: itself, its thread or the
 * responses before it, its assistant, its user. OFFSET 0 makes each step up one access by key,
 * as in load.c. */
#define PLACES \
    "WITH RECURSIVE up (scope_id, parent, upto, depth) AS (" \
    "  SELECT coalesce($3::text, $2::text) COLLATE \"C\", $4::text COLLATE \"C\", NULL::bigint, 1" \
    " UNION ALL SELECT p.scope_id, p.parent, p.upto, u.depth + 1 FROM up u" \
    "  CROSS JOIN LATERAL (SELECT coalesce(r.thread_id, r.id) AS scope_id," \
    "   CASE WHEN r.thread_id IS NULL THEN r.parent_run_id END AS parent," \
    "   CASE WHEN r.thread_id IS NOT NULL THEN coalesce(r.completed_at, r.incomplete_at," \
    "    r.failed_at, r.cancelled_at, r.created_at) END AS upto" \
    "   FROM runs r WHERE r.project_id = $1 AND r.id = u.parent OFFSET 0) p" \
    "  WHERE u.depth < " CHAIN_LIMIT ")," \
    " places (scope, scope_id, upto, depth) AS (" \
    "  SELECT 'run', $2::text COLLATE \"C\", NULL::bigint, 0" \
    " UNION ALL SELECT 'thread', scope_id, upto, depth FROM up" \
    " UNION ALL SELECT 'assistant', $5::text COLLATE \"C\", NULL, 1000000 WHERE $5 IS NOT NULL" \
    " UNION ALL SELECT 'user', $6::text COLLATE \"C\", NULL, 1000001 WHERE $6 IS NOT NULL)"

/* A grant for a tool allows nothing that its plans request. */
#define FITS \
    "CASE WHEN q.type IS NULL THEN g.match = 'tool' OR (g.match = 'exact' AND g.match_key = q.key)" \
    " ELSE g.match = 'pattern' AND g.type = q.type AND " GRANT_COVERS("q.words") " END"

static const struct db_statement find_statement = {
    "store_grants_find",
    PLACES
    " SELECT q.n, f.* FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[],"
    "  $12::bool[]) WITH ORDINALITY q (tool, key, definition, type, words, said, n)"
    " CROSS JOIN LATERAL (SELECT " GRANT_COLUMNS " FROM places p"
    "  CROSS JOIN LATERAL (SELECT * FROM approval_grants x WHERE x.project_id = $1"
    "   AND x.scope = p.scope AND x.scope_id = p.scope_id AND x.tool = q.tool OFFSET 0) g"
    "  WHERE g.definition = q.definition AND (p.upto IS NULL OR g.created_at <= p.upto)"
    "   AND (g.expires_at IS NULL OR g.expires_at > $13::bigint)"
    "   AND (g.said OR NOT q.said) AND " FITS
    "  ORDER BY CASE g.match WHEN 'exact' THEN 0 WHEN 'pattern' THEN 1 ELSE 2 END, p.depth,"
    "   length(g.match_key) DESC, g.approve LIMIT 1) f"
    " ORDER BY q.n"};

/* clang-format on */

static void add_questions(struct db_args *args, const struct grant_question *questions,
                          size_t count)
{
    AUTO_BATCH batch = {0};

    for (size_t i = 0; i < count; i++) {
        batch_begin(&batch);
        batch_text(&batch, questions[i].tool);
        batch_text(&batch, questions[i].key);
        batch_text(&batch, questions[i].definition);
        batch_text(&batch, questions[i].type);
        batch_text(&batch, questions[i].text);
        batch_bool(&batch, questions[i].said);
    }
    batch_finish(&batch, args);
}

enum err_code store_grants_find(struct store *store, const struct grant_place *place,
                                const struct grant_question *questions, size_t count,
                                struct grant_row **ret_grants, struct err *err)
{
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, place->tenant);
    db_arg_text(&args, place->run);
    db_arg_id(&args, place->thread);
    db_arg_id(&args, place->parent);
    db_arg_id(&args, place->assistant);
    db_arg_id(&args, place->tenant->user);
    add_questions(&args, questions, count);
    db_arg_int(&args, clock_wall_us());
    rc = db_once(store, &find_statement, &args, &rows, err);
    if (rc)
        return rc;
    *ret_grants = mem_new_array(struct grant_row, count + 1);
    for (size_t i = 0; i < db_count(rows); i++)
        grant_read(rows, i, 1, &(*ret_grants)[db_int(rows, i, 0) - 1]);
    return ERR_OK;
}

/* ---- For people ---- */

/* GRANT_SHOWN */
static void grant_read_shown(const struct db_rows *rows, size_t row,
                             struct grant_row *ret_grant)
{
    grant_read(rows, row, 0, ret_grant);
    ret_grant->of_response = db_bool(rows, row, 14);
}

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Approval grant with id '%.64s' not found.", id);
}

#define GRANT_LIST(order)                                                               \
    "SELECT " GRANT_SHOWN " FROM approval_grants g"                                     \
    " WHERE g.project_id = $1 AND g.id > coalesce($2, '') AND g.id < coalesce($3, '~')" \
    " AND ($5::text IS NULL OR g.scope = $5) AND ($6::text IS NULL OR g.scope_id = $6)" \
    " AND ($7::text IS NULL OR g.tool = $7)"                                            \
    " AND (g.expires_at IS NULL OR g.expires_at > $8::bigint)"                          \
    " ORDER BY g.id " order " LIMIT $4"

static enum err_code read_list(struct store *store, const struct tenant *tenant,
                               const struct grant_filter *filter, const struct page_scan *scan,
                               struct db_rows **ret_rows, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_grant_list_desc", GRANT_LIST("DESC")},
        {"store_grant_list_asc", GRANT_LIST("ASC")},
    };
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_id(&args, scan->low);
    db_arg_id(&args, scan->high);
    db_arg_int(&args, scan->limit);
    db_arg_text(&args, filter->scope);
    db_arg_text(&args, filter->scope_id);
    db_arg_text(&args, filter->tool);
    db_arg_int(&args, clock_wall_us());
    return db_once(store, &list[scan->ascending], &args, ret_rows, err);
}

enum err_code store_grant_list(struct store *store, const struct tenant *tenant,
                               const struct grant_filter *filter, const struct page *page,
                               struct grant_row **ret_rows, size_t *ret_count, bool *ret_more,
                               struct err *err)
{
    static const struct page_list cursor = {
        {"store_grant_list_cursor",
         "SELECT 1 FROM approval_grants WHERE project_id = $1 AND $2::text = '' AND id = $3"},
        "grant_"};
    struct page_scan scan = page_scan(page);
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = page_cursors_check(store, &cursor, tenant, "", page, err);
    size_t count;

    if (!rc)
        rc = read_list(store, tenant, filter, &scan, &rows, err);
    if (rc)
        return rc;
    count = page_count(&scan, rows, ret_more);
    *ret_rows = mem_new_array(struct grant_row, count + 1);
    for (size_t i = 0; i < count; i++)
        grant_read_shown(rows, page_row(&scan, count, i), &(*ret_rows)[i]);
    *ret_count = count;
    return ERR_OK;
}

enum err_code store_grant_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct grant_row *ret_row, struct err *err)
{
    static const struct db_statement get = {"store_grant_get",
                                            "SELECT " GRANT_SHOWN " FROM approval_grants g"
                                            " WHERE g.project_id = $1 AND g.id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &get, tenant, id, not_found, &rows, err);

    if (!rc)
        grant_read_shown(rows, 0, ret_row);
    return rc;
}

enum err_code store_grant_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_grant_delete", "DELETE FROM approval_grants WHERE project_id = $1 AND id = $2"};

    return db_find_by_id(store, &delete, tenant, id, not_found, NULL, err);
}
