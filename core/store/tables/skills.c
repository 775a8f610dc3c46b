/*
 * Skills: instructions that models read when they need them.
 *
 * A skill is written once. It may be deleted but not changed, so a run that was given its name
 * and description reads the text that belongs to them, however much later. Lists and runs take
 * only what identifies a skill; the text, up to megabytes with its files, is read when a model
 * asks for it.
 *
 * `prompt_at` is where the instructions begin behind the front matter: it was parsed when the
 * skill was made, and is not parsed again.
 */

#include "core/store/tables/skills.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/db.h"
#include "core/store/pg/page.h"

#define SKILL_COLUMNS "id, name, description, created_at"

static enum err_code not_found(const char *id, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Skill with id '%.64s' not found.", id);
}

static void skill_read(const struct db_rows *rows, size_t row, struct skill_row *ret_row)
{
    *ret_row = (struct skill_row){
        .name = db_copy(rows, row, 1),
        .description = db_copy(rows, row, 2),
        .created_at = db_int(rows, row, 3),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
}

void skill_row_clear(struct skill_row *row)
{
    free(row->name);
    free(row->description);
    free(row->content);
    json_decref(row->files);
    *row = (struct skill_row){0};
}

void skill_rows_free(struct skill_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        skill_row_clear(&rows[i]);
    free(rows);
}

enum err_code store_skill_create(struct store *store, const struct tenant *tenant,
                                 const struct skill_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_skill_create",
        "INSERT INTO skills (project_id, id, name, description, content, prompt_at, created_at,"
        "  files) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"};
    AUTO_FREE char *files = row->files ? json_text(row->files) : NULL;
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, row->description);
    db_arg_text(&args, row->content);
    db_arg_int(&args, (int64_t)row->prompt_at);
    db_arg_int(&args, row->created_at);
    db_arg_text(&args, files);
    return db_once(store, &insert, &args, NULL, err);
}

enum err_code store_skill_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct skill_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_skill_get", "SELECT " SKILL_COLUMNS ", content, prompt_at, files FROM skills"
                           " WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (rc)
        return rc;
    skill_read(rows, 0, ret_row);
    ret_row->content = db_copy(rows, 0, 4);
    ret_row->prompt_at = (size_t)db_int(rows, 0, 5);
    if (!db_is_null(rows, 0, 6))
        ret_row->files = json_parse_own(db_text(rows, 0, 6));
    return ERR_OK;
}

/* Every cursor statement has the parameters of page_read(): the project, the list's owner, the
 * id. The list of a project has no owner, which is the text ''. PostgreSQL refuses a parameter
 * that a statement does not use, so the condition is there and always true. */
#define SKILL_LIST(order)                                        \
    "SELECT " SKILL_COLUMNS " FROM skills WHERE project_id = $1" \
    " AND id > coalesce($2, '') AND id < coalesce($3, '~') ORDER BY id " order " LIMIT $4"

enum err_code store_skill_list(struct store *store, const struct tenant *tenant,
                               const struct page *page, struct skill_row **ret_rows,
                               size_t *ret_count, bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_skill_list_desc", SKILL_LIST("DESC")},
        {"store_skill_list_asc", SKILL_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_skill_list_cursor",
         "SELECT 1 FROM skills WHERE project_id = $1 AND $2::text = '' AND id = $3"},
        "skill_"};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = page_read(store, list, &cursor, tenant, NULL, page, &scan, &rows, err);

    if (!rc)
        page_unroll(&scan, rows, skill_read, ret_rows, ret_count, ret_more);
    return rc;
}

enum err_code store_skills_named(struct store *store, const struct tenant *tenant,
                                 const char *const *ids, size_t count,
                                 struct skill_row **ret_rows, size_t *ret_count,
                                 struct err *err)
{
    static const struct db_statement select = {
        "store_skills_named",
        "SELECT " SKILL_COLUMNS " FROM skills WHERE project_id = $1 AND id = ANY($2::text[])"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_texts(&args, ids, count);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct skill_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        skill_read(rows, i, &(*ret_rows)[i]);
    return ERR_OK;
}

enum err_code store_skill_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_skill_delete", "DELETE FROM skills WHERE project_id = $1 AND id = $2"};

    return db_find_by_id(store, &delete, tenant, id, not_found, NULL, err);
}

enum err_code store_skill_prompt(struct store *store, const struct tenant *tenant,
                                 const char *id, char **ret_prompt, json_t **ret_files,
                                 struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row row = {0};
    enum err_code rc = store_skill_get(store, tenant, id, &row, err);

    if (rc)
        return rc;
    *ret_prompt = mem_strdup(row.content + row.prompt_at);
    *ret_files = TAKE(row.files);
    return ERR_OK;
}
