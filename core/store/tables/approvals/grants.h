#ifndef RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANTS_H
#define RUNNEL_CORE_STORE_TABLES_APPROVALS_GRANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * grants.h -- answers to approvals that are remembered.
 *
 * A grant is made with the answer, in its transaction (core/store/tables/approvals/approvals.h, writer.h); the same
 * answer to the same thing again takes its place. It counts for the definition that the tool had when
 * it was asked, and for no other. One of a response outside conversations is seen by those that go on
 * from it, and not by other branches, as variables are.
 */

/* What is asked about. Borrowed. */
struct grant_question {
    const char *tool;
    const char *key;        /* of the arguments: permission_key(). Not with a type */
    const char *definition; /* as it is now */
    const char *type;       /* of permission, with the text that a pattern must fit: then only
                             * patterns count; or NULL */
    const char *text;
    bool said; /* only what somebody asked to be remembered */
};

/* Where. Borrowed; "" for none. */
struct grant_place {
    const struct tenant *tenant; /* and its user */
    const char *run;
    const char *thread;
    const char *parent; /* of a response outside conversations */
    const char *assistant;
};

/* For each question the grant that says most about it: exact before tool, then the
 * nearest. An id of "" where there is none. The caller frees. */
enum err_code store_grants_find(struct store *store, const struct grant_place *place,
                                const struct grant_question *questions, size_t count,
                                struct grant_row **ret_grants, struct err *err) MUST_CHECK;

/* Those that have not expired. `scope` and `tool` narrow the list; NULL for all. */
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
