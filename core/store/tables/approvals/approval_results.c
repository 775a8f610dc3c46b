/*
 * What an answer about a result changes.
 *
 * The tool has run, and a person decides whether the model may see its result. Until then the
 * item of the call says that the result is withheld, and `held` of the question keeps what an
 * approval would change: the id of the item, and the variable that the result makes.
 *
 * Three rows change together: the question, the item, the variable. A reader therefore never
 * sees an approved question beside an item that still waits. Locks are taken in the order of the
 * group commit: the question (which the caller has locked), the item, the scope of the variable.
 *
 * `held` is set to NULL with the answer. That makes a repeated answer find nothing to apply, and
 * a refused result leaves no copy behind in the question.
 *
 * The variable is made by the approval rather than deleted by a refusal: what does not exist
 * needs no filter in the queries about variables.
 */

#include "core/store/tables/approvals/approval_results.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/status/approval_status.h"
#include "core/domain/tenant.h"
#include "core/domain/withheld.h"
#include "core/store/tables/threads/variable_sql.h"

/* A row of the statement below. */
struct answered {
    const struct db_rows *rows;
    size_t row;
    json_t *held;
};

enum column { ID, STATUS, REASON, RUN, SCOPE, HELD, BODY };

static const char *text(const struct answered *answered, enum column column)
{
    return db_text(answered->rows, answered->row, (int)column);
}

static bool is_approved(const struct answered *answered)
{
    return approval_status_parse(text(answered, STATUS)) == APPROVAL_APPROVED;
}

/* ---- The item ---- */

/* A refused result becomes the reason in the model's view, and the item incomplete. */
static enum err_code change_item(struct db *db, const struct tenant *tenant,
                                 const struct answered *answered, struct err *err)
{
    static const struct db_statement change = {
        "approvals_change_item",
        "UPDATE items SET body = $3, status = CASE WHEN $4 THEN status ELSE 'incomplete' END"
        " WHERE project_id = $1 AND id = $2"};
    const char *reason = text(answered, REASON);
    json_auto_t *body = NULL;
    AUTO_FREE char *changed = NULL;
    AUTO_DB_ARGS args = {0};

    if (db_is_null(answered->rows, answered->row, BODY))
        return ERR_OK; /* deleted meanwhile */
    body = json_parse_own(text(answered, BODY));
    if (is_approved(answered))
        withheld_deliver(body);
    else
        withheld_refuse(body, reason && *reason ? reason : WITHHELD_REFUSED);
    changed = json_text(body);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, json_get_string(answered->held, "item", ""));
    db_arg_text(&args, changed);
    db_arg_bool(&args, is_approved(answered));
    return db_exec(db, &change, &args, NULL, err);
}

/* ---- The variable ---- */

/* Writes the variable as the run that called the tool would have, now that its lease is gone
 * (fence 0). */
static enum err_code make_variable(struct db *db, const struct tenant *tenant,
                                   const struct answered *answered, struct err *err)
{
    const struct row_owner owner = {.tenant = tenant, .run_id = text(answered, RUN)};
    const char *scope = text(answered, SCOPE);
    AUTO_VARIABLE variable = {0};

    withheld_variable(json_object_get(answered->held, "variable"), &variable);
    return variables_add(db, &owner, scope, &variable, 1, err);
}

/* ---- Both ---- */

static enum err_code apply(struct db *db, const struct tenant *tenant,
                           struct answered *answered, struct err *err)
{
    json_auto_t *held = json_parse_own(text(answered, HELD));
    enum err_code rc;

    answered->held = held;
    rc = change_item(db, tenant, answered, err);
    if (rc || !is_approved(answered) || !json_object_get(held, "variable"))
        return rc;
    return make_variable(db, tenant, answered, err);
}

static enum err_code forget_held(struct db *db, const struct tenant *tenant,
                                 const char *const *ids, size_t count, struct err *err)
{
    static const struct db_statement forget = {
        "approvals_forget_held", "UPDATE approvals SET held = NULL"
                                 " WHERE project_id = $1 AND id = ANY ($2::text[])"
                                 " AND held IS NOT NULL"};
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    return db_exec(db, &forget, &args, NULL, err);
}

/* The scope of the variable is the thread if that still exists, else the response. The item may
 * have been deleted meanwhile; the question is then settled all the same. */
enum err_code approval_results_apply(struct db *db, const struct tenant *tenant,
                                     const char *const *ids, size_t count, struct err *err)
{
    static const struct db_statement select = {
        "approvals_held",
        "SELECT a.id, a.status, a.reason, a.run_id, coalesce(t.id, a.run_id), a.held, i.body"
        " FROM approvals a LEFT JOIN threads t ON t.project_id = a.project_id"
        "  AND t.id = a.thread_id LEFT JOIN items i ON i.project_id = a.project_id"
        "  AND i.id = a.held::json ->> 'item'"
        " WHERE a.project_id = $1 AND a.id = ANY ($2::text[]) AND a.held IS NOT NULL"
        " ORDER BY a.id"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc || db_count(rows) == 0)
        return rc;
    for (size_t row = 0; !rc && row < db_count(rows); row++)
        rc = apply(db, tenant, &(struct answered){.rows = rows, .row = row}, err);
    return rc ? rc : forget_held(db, tenant, ids, count, err);
}
