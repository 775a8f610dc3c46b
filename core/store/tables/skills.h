#ifndef RUNNEL_CORE_STORE_TABLES_SKILLS_H
#define RUNNEL_CORE_STORE_TABLES_SKILLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/domain/tenant.h"
#include "core/store/store.h"

/*
 * skills.h -- skills as rows: a name, a description, and a text. A skill never changes, so what
 * a run was sent of it stays true. It may be deleted.
 *
 * ERR_NOT_FOUND is "Skill with id 'X' not found."
 */

struct skill_row {
    char id[ID_SIZE];
    char *name;
    char *description;
    char *content;    /* of SKILL.md; NULL in lists */
    size_t prompt_at; /* where in it the instructions begin */
    json_t *files;    /* files beside it, from path to text; NULL: none, and in lists */
    int64_t created_at;
};
void skill_row_clear(struct skill_row *row);
void skill_rows_free(struct skill_row *rows, size_t count);

enum err_code store_skill_create(struct store *store, const struct tenant *tenant,
                                 const struct skill_row *row, struct err *err) MUST_CHECK;

enum err_code store_skill_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct skill_row *ret_row, struct err *err) MUST_CHECK;

/* Skills in the order in which they were made. */
enum err_code store_skill_list(struct store *store, const struct tenant *tenant,
                               const struct page *page, struct skill_row **ret_rows,
                               size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;

enum err_code store_skill_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err) MUST_CHECK;

/* The skills with these ids that exist, in no order, without their texts. The caller frees
 * *ret_rows. */
enum err_code store_skills_named(struct store *store, const struct tenant *tenant,
                                 const char *const *ids, size_t count,
                                 struct skill_row **ret_rows, size_t *ret_count,
                                 struct err *err) MUST_CHECK;

/* Its instructions, without the front matter, and its files, or NULL. The caller frees both. */
enum err_code store_skill_prompt(struct store *store, const struct tenant *tenant,
                                 const char *id, char **ret_prompt, json_t **ret_files,
                                 struct err *err) MUST_CHECK;

#endif
