/*
 * Skills: instructions that models read when they need them.
 *
 * A version is written once. It may be deleted but not changed, so a run that was given its name
 * and description reads the text that belongs to them, however much later. Lists and runs take
 * only what identifies a skill; the text, up to megabytes with its files, is read when a model
 * asks for it. All files of a version are one value: they come and go together, and no request reads a part.
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

/* The column latest_version is the last number that was given; its version may have been deleted. */
#define SKILL_COLUMNS                                     \
    "id, name, description, created_at, default_version," \
    " (SELECT max(m.version) FROM skill_versions m"       \
    "  WHERE m.project_id = skills.project_id AND m.skill_id = skills.id)"

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
        .default_version = db_int(rows, row, 4),
        .latest_version = db_int(rows, row, 5),
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

/* Of a version: what follows its number in both statements that insert one. */
static void add_version_args(struct db_args *args, const struct skill_row *row,
                             const char *files)
{
    db_arg_text(args, row->description);
    db_arg_text(args, row->content);
    db_arg_int(args, (int64_t)row->prompt_at);
    db_arg_text(args, files);
    db_arg_int(args, row->created_at);
}

enum err_code store_skill_create(struct store *store, const struct tenant *tenant,
                                 const struct skill_row *row, const char *version_id,
                                 struct err *err)
{
    static const struct db_statement insert = {
        "store_skill_create",
        "WITH skill AS (INSERT INTO skills (project_id, id, name, description, content,"
        "  prompt_at, created_at) VALUES ($1, $2, $3, $5, $6, $7, $9))"
        " INSERT INTO skill_versions (project_id, skill_id, version, id, description, content,"
        "  prompt_at, files, created_at) VALUES ($1, $2, 1, $4, $5, $6, $7, $8, $9)"};
    AUTO_FREE char *files = row->files ? json_text(row->files) : NULL;
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->id);
    db_arg_text(&args, row->name);
    db_arg_text(&args, version_id);
    add_version_args(&args, row, files);
    return db_once(store, &insert, &args, NULL, err);
}

enum err_code store_skill_get(struct store *store, const struct tenant *tenant, const char *id,
                              struct skill_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_skill_get",
        "SELECT " SKILL_COLUMNS " FROM skills WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (!rc)
        skill_read(rows, 0, ret_row);
    return rc;
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
        "store_skills_named", "SELECT " SKILL_COLUMNS ", (SELECT v.id FROM skill_versions v"
                              "  WHERE v.project_id = $1 AND v.skill_id = skills.id"
                              "  AND v.version = skills.default_version)"
                              " FROM skills WHERE project_id = $1 AND id = ANY($2::text[])"};
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
    for (size_t i = 0; i < *ret_count; i++) {
        skill_read(rows, i, &(*ret_rows)[i]);
        db_id(rows, i, 6, (*ret_rows)[i].skill_id, ID_SIZE);
    }
    return ERR_OK;
}

enum err_code store_skill_delete(struct store *store, const struct tenant *tenant,
                                 const char *id, struct err *err)
{
    static const struct db_statement delete = {
        "store_skill_delete",
        "WITH versions AS (DELETE FROM skill_versions WHERE project_id = $1 AND skill_id = $2)"
        " DELETE FROM skills WHERE project_id = $1 AND id = $2"};

    return db_find_by_id(store, &delete, tenant, id, not_found, NULL, err);
}

/* ---- Versions ---- */

#define VERSION_COLUMNS                                                                \
    "v.id, (SELECT s.name FROM skills s WHERE s.project_id = v.project_id AND s.id = " \
    "v.skill_id),"                                                                     \
    " v.description, v.created_at, v.skill_id, v.version"

static void version_read(const struct db_rows *rows, size_t row, struct skill_row *ret_row)
{
    *ret_row = (struct skill_row){
        .name = db_copy(rows, row, 1),
        .description = db_copy(rows, row, 2),
        .created_at = db_int(rows, row, 3),
        .version = db_int(rows, row, 5),
    };
    db_id(rows, row, 0, ret_row->id, sizeof(ret_row->id));
    db_id(rows, row, 4, ret_row->skill_id, sizeof(ret_row->skill_id));
}

static enum err_code no_version(const char *skill_id, int64_t version, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "Version %lld of the skill '%.64s' not found.",
                   (long long)version, skill_id);
}

/* The skill, locked until the transaction ends. */
static enum err_code lock_skill(struct db *db, const struct tenant *tenant, const char *id,
                                struct skill_row *ret_skill, size_t *ret_versions,
                                struct err *err)
{
    static const struct db_statement lock = {
        "store_skill_lock", "SELECT " SKILL_COLUMNS ", latest_version FROM skills"
                            " WHERE project_id = $1 AND id = $2 FOR UPDATE"};
    static const struct db_statement count = {
        "store_skill_version_count",
        "SELECT count(*) FROM skill_versions WHERE project_id = $1 AND skill_id = $2"};
    AUTO_DB_ARGS args = {0};
    AUTO_DB_ROWS *rows = NULL, *counted = NULL;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &lock, &args, &rows, err);
    if (!rc && !db_count(rows))
        return not_found(id, err);
    rc = rc ? rc : db_exec(db, &count, &args, &counted, err);
    if (rc)
        return rc;
    skill_read(rows, 0, ret_skill);
    ret_skill->latest_version = db_int(rows, 0, 6);
    *ret_versions = (size_t)db_int(counted, 0, 0);
    return ERR_OK;
}

static enum err_code move_default(struct db *db, const struct tenant *tenant, const char *id,
                                  int64_t version, struct err *err)
{
    static const struct db_statement move = {
        "store_skill_default",
        "UPDATE skills s SET default_version = v.version, description = v.description"
        " FROM skill_versions v WHERE s.project_id = $1 AND s.id = $2"
        " AND v.project_id = $1 AND v.skill_id = $2 AND v.version = $3"};
    AUTO_DB_ARGS args = {0};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, version);
    rc = db_exec(db, &move, &args, &rows, err);
    return !rc && !db_changed(rows) ? no_version(id, version, err) : rc;
}

enum err_code store_skill_set_default(struct store *store, const struct tenant *tenant,
                                      const char *id, int64_t version, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    size_t versions;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    rc = rc ? rc : lock_skill(db, tenant, id, &skill, &versions, err);
    rc = rc ? rc : move_default(db, tenant, id, version, err);
    return rc ? rc : db_commit(db, err);
}

static enum err_code insert_version(struct db *db, const struct tenant *tenant,
                                    const struct skill_row *row, struct err *err)
{
    static const struct db_statement insert = {
        "store_skill_version_create",
        "WITH skill AS (UPDATE skills SET latest_version = $3"
        "  WHERE project_id = $1 AND id = $2)"
        " INSERT INTO skill_versions (project_id, skill_id, version, id, description, content,"
        "  prompt_at, files, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
    AUTO_FREE char *files = row->files ? json_text(row->files) : NULL;
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, row->skill_id);
    db_arg_int(&args, row->version);
    db_arg_text(&args, row->id);
    add_version_args(&args, row, files);
    return db_exec(db, &insert, &args, NULL, err);
}

enum err_code store_skill_version_create(struct store *store, const struct tenant *tenant,
                                         struct skill_row *row, bool make_default,
                                         struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    size_t versions = 0;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    rc = rc ? rc : lock_skill(db, tenant, row->skill_id, &skill, &versions, err);
    if (!rc && versions >= SKILL_VERSIONS_LIMIT)
        rc = err_set(err, ERR_LIMIT, "A skill has at most %d versions.", SKILL_VERSIONS_LIMIT);
    row->version = skill.latest_version + 1;
    rc = rc ? rc : insert_version(db, tenant, row, err);
    if (!rc && make_default)
        rc = move_default(db, tenant, row->skill_id, row->version, err);
    return rc ? rc : db_commit(db, err);
}

#define VERSION_WHERE                                                                      \
    " FROM skill_versions v"                                                               \
    " WHERE v.project_id = $1 AND v.skill_id = $2 AND v.version = CASE $3::bigint"         \
    "  WHEN 0 THEN (SELECT default_version FROM skills WHERE project_id = $1 AND id = $2)" \
    "  WHEN -1 THEN (SELECT max(version) FROM skill_versions"                              \
    "   WHERE project_id = $1 AND skill_id = $2) ELSE $3 END"

static enum err_code find_version(struct store *store, const struct db_statement *select,
                                  const struct tenant *tenant, const char *skill_id,
                                  int64_t version, struct db_rows **ret_rows, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    AUTO_DB_ARGS args = {0};
    enum err_code rc = store_skill_get(store, tenant, skill_id, &skill, err);

    if (rc)
        return rc;
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, skill_id);
    db_arg_int(&args, version);
    rc = db_once(store, select, &args, ret_rows, err);
    return !rc && !db_count(*ret_rows) ? no_version(skill_id, version, err) : rc;
}

enum err_code store_skill_version_get(struct store *store, const struct tenant *tenant,
                                      const char *skill_id, int64_t version,
                                      struct skill_row *ret_row, struct err *err)
{
    static const struct db_statement select = {
        "store_skill_version_get",
        "SELECT " VERSION_COLUMNS ", v.content, v.prompt_at, v.files" VERSION_WHERE};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_version(store, &select, tenant, skill_id, version, &rows, err);

    if (rc)
        return rc;
    version_read(rows, 0, ret_row);
    ret_row->content = db_copy(rows, 0, 6);
    ret_row->prompt_at = (size_t)db_int(rows, 0, 7);
    if (!db_is_null(rows, 0, 8))
        ret_row->files = json_parse_own(db_text(rows, 0, 8));
    return ERR_OK;
}

enum err_code store_skill_version_find(struct store *store, const struct tenant *tenant,
                                       const char *skill_id, int64_t version,
                                       struct skill_row *ret_row, struct err *err)
{
    static const struct db_statement select = {"store_skill_version_find",
                                               "SELECT " VERSION_COLUMNS VERSION_WHERE};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = find_version(store, &select, tenant, skill_id, version, &rows, err);

    if (!rc)
        version_read(rows, 0, ret_row);
    return rc;
}

/* Ids begin with their time, and versions are made one after another. */
#define VERSION_LIST(order)                                                    \
    "SELECT " VERSION_COLUMNS " FROM skill_versions v"                         \
    " WHERE v.project_id = $1 AND v.skill_id = $2 AND v.id > coalesce($3, '')" \
    " AND v.id < coalesce($4, '~') ORDER BY v.id " order " LIMIT $5"

enum err_code store_skill_version_list(struct store *store, const struct tenant *tenant,
                                       const char *skill_id, const struct page *page,
                                       struct skill_row **ret_rows, size_t *ret_count,
                                       bool *ret_more, struct err *err)
{
    static const struct db_statement list[] = {
        {"store_skill_version_list_desc", VERSION_LIST("DESC")},
        {"store_skill_version_list_asc", VERSION_LIST("ASC")},
    };
    static const struct page_list cursor = {
        {"store_skill_version_list_cursor",
         "SELECT 1 FROM skill_versions WHERE project_id = $1 AND skill_id = $2 AND id = $3"},
        "skillver_"};
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    AUTO_DB_ROWS *rows = NULL;
    struct page_scan scan;
    enum err_code rc = store_skill_get(store, tenant, skill_id, &skill, err);

    if (!rc)
        rc = page_read(store, list, &cursor, tenant, skill_id, page, &scan, &rows, err);
    if (!rc)
        page_unroll(&scan, rows, version_read, ret_rows, ret_count, ret_more);
    return rc;
}

static enum err_code remove_version(struct db *db, const struct tenant *tenant, const char *id,
                                    int64_t version, bool last, struct err *err)
{
    static const struct db_statement one = {
        "store_skill_version_delete",
        "DELETE FROM skill_versions WHERE project_id = $1 AND skill_id = $2 AND version = $3"};
    static const struct db_statement both = {
        "store_skill_version_delete_last",
        "WITH version AS (DELETE FROM skill_versions"
        "  WHERE project_id = $1 AND skill_id = $2 AND version = $3 RETURNING version)"
        " DELETE FROM skills WHERE project_id = $1 AND id = $2"
        " AND EXISTS (SELECT 1 FROM version)"};
    AUTO_DB_ARGS args = {0};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    db_arg_int(&args, version);
    rc = db_exec(db, last ? &both : &one, &args, &rows, err);
    return !rc && !db_changed(rows) ? no_version(id, version, err) : rc;
}

enum err_code store_skill_version_delete(struct store *store, const struct tenant *tenant,
                                         const char *skill_id, int64_t version, struct err *err)
{
    CLEANUP(skill_row_clear) struct skill_row skill = {0};
    size_t versions = 0;
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    rc = rc ? rc : lock_skill(db, tenant, skill_id, &skill, &versions, err);
    if (!rc && versions > 1 && version == skill.default_version)
        rc = err_set(err, ERR_CONFLICT,
                     "Cannot delete the default version of a skill. Set another default "
                     "version first.");
    rc = rc ? rc : remove_version(db, tenant, skill_id, version, versions == 1, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- What a model reads ---- */

enum err_code store_skill_prompt(struct store *store, const struct tenant *tenant,
                                 const char *id, char **ret_prompt, json_t **ret_files,
                                 struct err *err)
{
    static const struct db_statement select = {
        "store_skill_prompt",
        "SELECT v.content, v.prompt_at, v.files FROM skill_versions v WHERE v.project_id = $1"
        " AND (v.id = $2 OR (v.skill_id = $2 AND v.version = (SELECT default_version"
        "  FROM skills WHERE project_id = $1 AND id = $2)))"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_FREE char *content = NULL;
    enum err_code rc = db_find_by_id(store, &select, tenant, id, not_found, &rows, err);

    if (rc)
        return rc;
    content = db_copy(rows, 0, 0);
    *ret_prompt = mem_strdup(content + db_int(rows, 0, 1));
    *ret_files = db_is_null(rows, 0, 2) ? NULL : json_parse_own(db_text(rows, 0, 2));
    return ERR_OK;
}
