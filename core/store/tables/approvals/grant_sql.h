#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANT_SQL_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANT_SQL_H

#include "core/store/pg/batch.h"
#include "core/store/pg/db.h"
#include "core/store/tables/runs/upserts.h"

/*
 * grant_sql.h -- grants, made in a caller's transaction.
 */

/* Of several for the same thing in one batch, a refusal wins. */
extern const struct db_statement grants_upsert;
void grant_add(struct batch *batch, const struct row_owner *owner,
               const struct grant_row *grant);

/* Whether pattern g covers a text of the same type. A missing text is never covered. */
#define GRANT_COVERS(text)                                  \
    text " <> '' AND CASE WHEN right(g.match_key, 1) = '*'" \
         " THEN starts_with(" text ", left(g.match_key, -1)) ELSE g.match_key = " text " END"

/* Deletes the grants of a thread or response $2 of project $1, which is being deleted. */
#define GRANTS_DELETE                                                     \
    "DELETE FROM approval_grants WHERE project_id = $1 AND scope_id = $2" \
    " AND scope IN ('run', 'thread')"

#endif
