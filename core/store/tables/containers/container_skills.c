/*
 * The skills of containers.
 *
 * A version is copied by the database itself, so its bytes do not travel. All that adds skills to a container locks its
 * row first: so names and the limit are exact. Each counts for the storage of its project, and its row says how much.
 */

#include "core/store/tables/containers/container_skills.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/tables/containers/container_sql.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/storage_sql.h"

#define SKILL_COLUMNS "s.position, s.name, s.origin, s.description, s.skill_id, s.version"

void container_skills_clear(struct container_skill *skills, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(skills[i].description);
        free(skills[i].content);
        json_decref(skills[i].files);
        skills[i] = (struct container_skill){0};
    }
}

void container_skill_rows_free(struct container_skill_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rows[i].name);
        free(rows[i].origin);
        free(rows[i].description);
        free(rows[i].skill_id);
    }
    free(rows);
}

static void read_rows(const struct db_rows *rows, struct container_skill_row **ret_rows,
                      size_t *ret_count)
{
    *ret_count = db_count(rows);
    *ret_rows = mem_new_array(struct container_skill_row, *ret_count + 1);
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_rows)[i] = (struct container_skill_row){
            .position = db_int(rows, i, 0),
            .name = db_copy(rows, i, 1),
            .origin = db_copy(rows, i, 2),
            .description = db_copy(rows, i, 3),
            .skill_id = db_is_null(rows, i, 4) ? NULL : db_copy(rows, i, 4),
            .version = db_is_null(rows, i, 5) ? 0 : db_int(rows, i, 5),
        };
}

/* ---- Names ---- */

static bool has_name(const struct container_skill_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return true;
    }
    return false;
}

char *container_skill_name(const struct container_skill_row *rows, size_t count,
                           const char *name)
{
    char *free_name = mem_strdup(name);

    for (unsigned n = 2; has_name(rows, count, free_name); n++) {
        free(free_name);
        free_name = mem_printf("%s-%u", name, n);
    }
    return free_name;
}

static bool has_origin(const struct container_skill_row *rows, size_t count, const char *origin)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].origin, origin) == 0)
            return true;
    }
    return false;
}

/* ---- Adding ---- */

static enum err_code lock_container(struct db *db, const struct tenant *tenant, const char *id,
                                    struct err *err)
{
    static const struct db_statement lock = {
        "store_container_skills_lock",
        "SELECT FROM containers WHERE project_id = $1 AND id = $2 AND status = 'running'"
        " AND expires_at > " CONTAINER_NOW " FOR UPDATE"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &lock, &args, &rows, err);
    return !rc && !db_count(rows) ? container_not_found(id, err) : rc;
}

static enum err_code read_present(struct db *db, const struct tenant *tenant, const char *id,
                                  struct container_skill_row **ret_rows, size_t *ret_count,
                                  struct err *err)
{
    static const struct db_statement select = {
        "store_container_skills_present",
        "SELECT " SKILL_COLUMNS " FROM container_skills s WHERE s.project_id = $1"
        " AND s.container_id = $2 ORDER BY s.position"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (!rc)
        read_rows(rows, ret_rows, ret_count);
    return rc;
}

#define BYTES(content, others) \
    "octet_length(" content ") + coalesce(octet_length(" others "), 0)"

static enum err_code insert_copy(struct db *db, struct db_args *args,
                                 const struct container_skill *skill, int64_t *ret_bytes,
                                 struct err *err)
{
    static const struct db_statement copy = {
        "store_container_skill_copy",
        "INSERT INTO container_skills (project_id, container_id, position, name, origin,"
        "  skill_id, version, description, content, others, counted_bytes) SELECT $1, $2, $3, "
        "$4, v.id,"
        "  v.skill_id, v.version, v.description, v.content, v.files, " BYTES(
            "v.content", "v.files") " FROM skill_versions v WHERE v.project_id = $1 AND v.id = "
                                    "$5 RETURNING counted_bytes"};
    AUTO_DB_ROWS *rows = NULL;
    enum err_code rc = db_exec(db, &copy, args, &rows, err);

    if (rc)
        return rc;
    if (db_count(rows)) {
        *ret_bytes = db_int(rows, 0, 0);
        return ERR_OK;
    }
    return err_set(err, ERR_NOT_FOUND, "Skill with id '%.64s' not found.", skill->skill_id);
}

static enum err_code insert_brought(struct db *db, struct db_args *args,
                                    const struct container_skill *skill, int64_t *ret_bytes,
                                    struct err *err)
{
    static const struct db_statement insert = {
        "store_container_skill_insert",
        "INSERT INTO container_skills (project_id, container_id, position, name, origin,"
        "  description, content, others, counted_bytes)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
    AUTO_FREE char *files = skill->files ? json_text(skill->files) : NULL;

    *ret_bytes = (int64_t)(strlen(skill->content) + (files ? strlen(files) : 0));

    db_arg_text(args, skill->description);
    db_arg_text(args, skill->content);
    db_arg_text(args, files);
    db_arg_int(args, *ret_bytes);
    return db_exec(db, &insert, args, NULL, err);
}

static enum err_code insert_skill(struct db *db, const struct tenant *tenant,
                                  const char *container_id, size_t position, const char *name,
                                  const struct container_skill *skill, int64_t *ret_bytes,
                                  struct err *err)
{
    AUTO_DB_ARGS args = {0};

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_int(&args, (int64_t)position);
    db_arg_text(&args, name);
    db_arg_text(&args, skill->origin);
    return *skill->skill_id ? insert_copy(db, &args, skill, ret_bytes, err)
                            : insert_brought(db, &args, skill, ret_bytes, err);
}

/* Counts them, and refuses what is too much. */
static enum err_code note_count(struct db *db, const struct tenant *tenant,
                                const char *container_id, struct err *err)
{
    static const struct db_statement update = {
        "store_container_skills_count",
        "UPDATE containers c SET skill_count = s.count FROM (SELECT count(*) AS count,"
        "  coalesce(sum(" BYTES(
            "content",
            "others") "), 0) AS bytes"
                      "  FROM container_skills WHERE project_id = $1 AND container_id = $2) s"
                      " WHERE c.project_id = $1 AND c.id = $2 RETURNING s.count, "
                      "s.bytes::bigint"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    rc = db_exec(db, &update, &args, &rows, err);
    if (rc)
        return rc;
    if ((size_t)db_int(rows, 0, 0) > CONTAINER_SKILLS_LIMIT)
        return err_set(err, ERR_LIMIT, "A container has at most %zu skills.",
                       CONTAINER_SKILLS_LIMIT);
    if ((size_t)db_int(rows, 0, 1) > CONTAINER_SKILLS_BYTES)
        return err_set(err, ERR_LIMIT,
                       "The skills of a container have at most %zu bytes together.",
                       CONTAINER_SKILLS_BYTES);
    return ERR_OK;
}

/* One after another, because a name depends on those before. */
static enum err_code add_missing(struct db *db, const struct tenant *tenant,
                                 const char *container_id, const struct container_skill *skills,
                                 size_t count, struct err *err)
{
    struct container_skill_row *rows = NULL;
    size_t present = 0;
    int64_t bytes = 0;
    enum err_code rc = read_present(db, tenant, container_id, &rows, &present, err);

    for (size_t i = 0; !rc && i < count; i++) {
        int64_t more = 0;
        char *name;

        if (has_origin(rows, present, skills[i].origin))
            continue;
        name = container_skill_name(rows, present, skills[i].name);
        rc = bytes ? ERR_OK : storage_check(db, tenant, err);
        if (!rc)
            rc = insert_skill(db, tenant, container_id, present, name, &skills[i], &more, err);
        bytes += more;
        rows = mem_resize(rows, present + 1, sizeof(*rows));
        rows[present++] =
            (struct container_skill_row){.name = name, .origin = mem_strdup(skills[i].origin)};
    }
    container_skill_rows_free(rows, present);
    rc = rc ? rc : note_count(db, tenant, container_id, err);
    return rc ? rc : storage_count_documents(db, tenant, bytes, err);
}

enum err_code store_container_skills_add(struct store *store, const struct tenant *tenant,
                                         const char *container_id,
                                         const struct container_skill *skills, size_t count,
                                         struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    rc = rc ? rc : lock_container(db, tenant, container_id, err);
    rc = rc ? rc : add_missing(db, tenant, container_id, skills, count, err);
    return rc ? rc : db_commit(db, err);
}

/* ---- Reading ---- */

enum err_code store_container_skills_list(struct store *store, const struct tenant *tenant,
                                          const char *container_id, const char *owner_id,
                                          struct container_skill_row **ret_rows,
                                          size_t *ret_count, struct err *err)
{
    static const struct db_statement select = {
        "store_container_skills_list",
        "SELECT " SKILL_COLUMNS
        " FROM containers c JOIN container_skills s ON s.project_id = c.project_id"
        " AND s.container_id = c.id WHERE c.project_id = $1 AND c.status = 'running'"
        " AND CASE WHEN $2 <> '' THEN c.id = $2 ELSE c.owner_id = $3 END ORDER BY s.position"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_text(&args, owner_id);
    rc = db_once(store, &select, &args, &rows, err);
    if (!rc)
        read_rows(rows, ret_rows, ret_count);
    return rc;
}

enum err_code store_container_skill_get(struct store *store, const struct tenant *tenant,
                                        const char *container_id, int64_t position,
                                        char **ret_content, json_t **ret_files, struct err *err)
{
    static const struct db_statement select = {
        "store_container_skill_get",
        "SELECT content, others FROM container_skills WHERE project_id = $1"
        " AND container_id = $2 AND position = $3"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, container_id);
    db_arg_int(&args, position);
    rc = db_once(store, &select, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return container_not_found(container_id, err);
    *ret_content = db_copy(rows, 0, 0);
    *ret_files = db_is_null(rows, 0, 1) ? NULL : json_parse_own(db_text(rows, 0, 1));
    return ERR_OK;
}
