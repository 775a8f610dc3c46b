#ifndef RUNNEL_CORE_STORE_TABLES_SCRIPTS_H
#define RUNNEL_CORE_STORE_TABLES_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * scripts.h -- modules that a project brings as tools, as rows. A name is there once: putting it again replaces the
 * source under the same id.
 *
 * ERR_NOT_FOUND is "Script with id 'X' not found."
 */

#define SCRIPTS_LIMIT     100 /* of a project */
#define SCRIPT_NAME_LIMIT ((size_t)64)

struct script_row {
    char id[ID_SIZE];
    char *name;
    char *source;     /* NULL in lists */
    char *hash;       /* SHA-256 of the source, hexadecimal */
    char *definition; /* JSON object: {"rules", "functions": [...]} */
    int64_t created_at, updated_at;
};
void script_row_clear(struct script_row *row);
void script_rows_free(struct script_row *rows, size_t count);

/* Makes it, or replaces the one of this name: then row->id and row->created_at become those of the old one.
 * ERR_INVALID: the project has SCRIPTS_LIMIT others. */
enum err_code store_script_put(struct store *store, const struct tenant *tenant,
                               struct script_row *row, struct err *err) MUST_CHECK;

enum err_code store_script_get(struct store *store, const struct tenant *tenant, const char *id,
                               struct script_row *ret_row, struct err *err) MUST_CHECK;

/* In the order in which they were made. */
enum err_code store_script_list(struct store *store, const struct tenant *tenant,
                                const struct page *page, struct script_row **ret_rows,
                                size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;

enum err_code store_script_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err) MUST_CHECK;

#endif
