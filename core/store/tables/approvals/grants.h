#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANTS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * grants.h -- grants: answers to approvals that are remembered.
 *
 * A grant is made with the answer, in its transaction (approvals.h,
 * core/store/writer/writer.h). The same answer to the same question later replaces it. It holds
 * for the definition that the tool had then, and for no other. A grant of a response outside
 * conversations is seen by the responses that continue it, and not by other branches; variables
 * behave the same.
 */

/* A call to look grants up for. Borrowed. */
struct grant_question {
    const char *tool;
    const char *key;        /* permission_key() of the arguments; not with a type */
    const char *definition; /* its present definition */
    const char *type;       /* the type of a permission, with the text that a pattern must
                             * cover: then only patterns count; or NULL */
    const char *text;
    bool said; /* only grants that an answer requested */
};

/* Where to look. Borrowed; "" for none. */
struct grant_place {
    const struct tenant *tenant; /* the project and its user */
    const char *run;
    const char *thread;
    const char *parent; /* the response before, outside conversations */
    const char *assistant;
};

/* For each question the most specific grant: exact before tool, then the nearest scope. An id
 * of "" if there is no grant. The caller frees. */
enum err_code store_grants_find(struct store *store, const struct grant_place *place,
                                const struct grant_question *questions, size_t count,
                                struct grant_row **ret_grants, struct err *err) MUST_CHECK;

/* Grants that have not expired. `scope` and `tool` narrow the list; NULL for all. */
struct grant_filter {
    const char *scope;
    const char *scope_id;
    const char *tool;
};
enum err_code store_grant_list(struct store *store, const struct tenant *tenant,
                               const struct grant_filter *filter, const struct page *page,
                               struct grant_row **ret_rows, size_t *ret_count, bool *ret_more,
                               struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND: "Approval grant with id 'X' not found." */
enum err_code store_grant_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct grant_row *ret_row, struct err *err) MUST_CHECK;
enum err_code store_grant_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err) MUST_CHECK;

#endif
