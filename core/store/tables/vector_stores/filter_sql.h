#ifndef RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_FILTER_SQL_H
#define RUNNEL_CORE_STORE_TABLES_VECTOR_STORES_FILTER_SQL_H

#include "core/domain/filter.h"

/*
 * filter_sql.h -- a filter as a jsonpath with its values, for jsonb_path_match(). Pure.
 *
 * The values are variables of the path, so the path has nothing of a client but keys, which are quoted. Each comparison
 * is exists(key ? (@ == $v)): false, and not unknown, when the key is missing or of another type. So its opposite is
 * true then, as filters want it.
 */

struct filter_sql {
    char *path;
    char *values; /* JSON object */
};

/* The caller clears. */
void filter_sql_make(const struct filter *filter, struct filter_sql *ret_sql);
void filter_sql_clear(struct filter_sql *sql);

#endif
