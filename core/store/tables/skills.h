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
 * skills.h -- skills as rows: a name, and versions. A version is a description and the files of a folder, and never
 * changes, so what a run was sent of it stays true. Its number is given once, from 1 on. A skill has at least one
 * version, and one of them is the default.
 *
 * ERR_NOT_FOUND is "Skill with id 'X' not found.", or "Version 2 of the skill 'X' not found."
 */

/* Versions of a skill. */
#define SKILL_VERSIONS_LIMIT 100

struct skill_row {
    char id[ID_SIZE];
    char *name;
    char *description; /* of the default version */
    char *content;     /* of SKILL.md; NULL in lists */
    size_t prompt_at;  /* where in it the instructions begin */
    json_t *
        files; /* files beside it, from path to text or {"base64": text}; NULL: none, and in lists */
    int64_t created_at;
    int64_t default_version, latest_version; /* of a skill */
    char skill_id[ID_SIZE];                  /* of a version, as the next */
    int64_t version;
};
void skill_row_clear(struct skill_row *row);
void skill_rows_free(struct skill_row *rows, size_t count);

/* With `version_id`, that of version 1. */
enum err_code store_skill_create(struct store *store, const struct tenant *tenant,
                                 const struct skill_row *row, const char *version_id,
                                 struct err *err) MUST_CHECK;

/* Without files and content. */
enum err_code store_skill_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct skill_row *ret_row, struct err *err) MUST_CHECK;

/* Skills in the order in which they were made. */
enum err_code store_skill_list(struct store *store, const struct tenant *tenant,
                               const struct page *page, struct skill_row **ret_rows,
                               size_t *ret_count, bool *ret_more, struct err *err) MUST_CHECK;

/* With all its versions. */
enum err_code store_skill_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err) MUST_CHECK;

/* The version becomes the default. */
enum err_code store_skill_set_default(struct store *store, const struct tenant *tenant,
                                      const char *id, int64_t version,
                                      struct err *err) MUST_CHECK;

/* The skills with these ids that exist, in no order, without their texts. `skill_id` of each is the id of its default
 * version. The caller frees *ret_rows. */
enum err_code store_skills_named(struct store *store, const struct tenant *tenant,
                                 const char *const *ids, size_t count,
                                 struct skill_row **ret_rows, size_t *ret_count,
                                 struct err *err) MUST_CHECK;

/* The instructions without the front matter, and the files, or NULL, of the version with this id, or of the default one
 * of the skill with this id. The caller frees both. */
enum err_code store_skill_prompt(struct store *store, const struct tenant *tenant,
                                 const char *id, char **ret_prompt, json_t **ret_files,
                                 struct err *err) MUST_CHECK;

/* ---- Versions ---- */

#define SKILL_DEFAULT ((int64_t)0) /* instead of a number: the default version */
#define SKILL_LATEST  ((int64_t)-1)

/* Adds a version to the skill `row->skill_id`, whose name it has. Fills in row->version. ERR_LIMIT beyond
 * SKILL_VERSIONS_LIMIT. */
enum err_code store_skill_version_create(struct store *store, const struct tenant *tenant,
                                         struct skill_row *row, bool make_default,
                                         struct err *err) MUST_CHECK;
enum err_code store_skill_version_get(struct store *store, const struct tenant *tenant,
                                      const char *skill_id, int64_t version,
                                      struct skill_row *ret_row, struct err *err) MUST_CHECK;
/* Without files and content. */
enum err_code store_skill_version_find(struct store *store, const struct tenant *tenant,
                                       const char *skill_id, int64_t version,
                                       struct skill_row *ret_row, struct err *err) MUST_CHECK;
/* By their numbers. */
enum err_code store_skill_version_list(struct store *store, const struct tenant *tenant,
                                       const char *skill_id, const struct page *page,
                                       struct skill_row **ret_rows, size_t *ret_count,
                                       bool *ret_more, struct err *err) MUST_CHECK;
/* The last version takes the skill along. ERR_CONFLICT: it is the default, and there are others. */
enum err_code store_skill_version_delete(struct store *store, const struct tenant *tenant,
                                         const char *skill_id, int64_t version,
                                         struct err *err) MUST_CHECK;

#endif
