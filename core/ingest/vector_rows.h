#ifndef RUNNEL_CORE_INGEST_VECTOR_ROWS_H
#define RUNNEL_CORE_INGEST_VECTOR_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/ingest/candidates.h"

/*
 * vector_rows.h -- the vectors of one search, where they are rows of the database (pgvector.h).
 *
 *     struct vector_rows rows = {.store = store, .tenant = tenant, .documents = ids, .count = count, .chunks = chunks};
 *
 *     rc = vector_rows_begin(&rows, space, &has, err);
 *     if (!rc && has)
 *         candidates.table = &rows.table;
 *     count = candidates_find(&candidates, &hits);
 *     if (rows.rc) ...                       // the database is away: what was found says nothing
 *
 * One thread. All that is given is borrowed.
 */

struct store;

struct vector_rows {
    struct store *store;
    const struct tenant *tenant;
    const char *const
        *documents; /* ids in their order, by their places in the list of indexes */
    size_t count;
    size_t chunks; /* of all of them */
    /* The rest is filled in. */
    struct candidates_table table;
    const struct vector_space *space;
    enum err_code rc; /* of the first call that has failed; then nothing more is asked */
    struct err err;
};

/* Whether a document of the search has vectors of the space; also the error of the database. */
enum err_code vector_rows_begin(struct vector_rows *rows, const struct vector_space *space,
                                bool *ret_has, struct err *err) MUST_CHECK;

#endif
