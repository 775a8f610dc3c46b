#ifndef RUNNEL_CORE_STORE_TABLES_PROMPTS_H
#define RUNNEL_CORE_STORE_TABLES_PROMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * prompts.h -- prompt templates as rows. A version never changes: a new one is added behind it.
 * They are numbered from 1.
 *
 * ERR_NOT_FOUND is "Prompt with id 'X' not found." or "Version '3' of prompt with id 'X' not
 * found".
 */

#define PROMPT_VERSION_LIMIT 1000

#define PROMPT_NEWEST 0 /* the limit of one version */

/* A template, in one of its versions. */
struct prompt_row {
    char id[ID_SIZE];
    char *name; /* or NULL */
    int version;
    char *body; /* JSON object: the template */
    int64_t created_at;
    int64_t version_created_at;
};
void prompt_row_clear(struct prompt_row *row);
void prompt_rows_free(struct prompt_row *rows, size_t count);

/* Makes a template with its first version. */
enum err_code store_prompt_create(struct store *store, const struct tenant *tenant,
                                  const struct prompt_row *row, struct err *err) MUST_CHECK;

/* One version, or the newest. */
enum err_code store_prompt_get(struct store *store, const struct tenant *tenant, const char *id,
                               int version, struct prompt_row *ret_row,
                               struct err *err) MUST_CHECK;

/* Adds a version. ERR_INVALID at the limit of versions. */
enum err_code store_prompt_add(struct store *store, const struct tenant *tenant, const char *id,
                               const char *body, struct prompt_row *ret_row,
                               struct err *err) MUST_CHECK;

/* Templates in the order in which they were made, each in its newest version. */
enum err_code store_prompt_list(struct store *store, const struct tenant *tenant,
                                const struct page *page, struct prompt_row **ret_rows,
                                size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;

/* Versions in the order of their numbers, which are also the page's cursors. */
enum err_code store_prompt_versions(struct store *store, const struct tenant *tenant,
                                    const char *id, const struct page *page,
                                    struct prompt_row **ret_rows, size_t *ret_count,
                                    bool *ret_more, struct err *err) MUST_CHECK;

/* With all versions. */
enum err_code store_prompt_delete(struct store *store, const struct tenant *tenant,
                                  const char *id, struct err *err) MUST_CHECK;

#endif
