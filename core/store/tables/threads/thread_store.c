#include "core/store/tables/threads/thread_store.h"

#include <stdio.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/search_resources.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

static enum err_code load_resources(struct db *db, const struct tenant *tenant,
                                    const char *thread_id, json_t **ret_resources,
                                    struct err *err)
{
    static const struct db_statement select = {
        "thread_store_resources",
        "SELECT tool_resources FROM threads WHERE project_id = $1 AND id = $2"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    rc = db_exec(db, &select, &args, &rows, err);
    if (rc)
        return rc;
    *ret_resources =
        db_count(rows) && !db_is_null(rows, 0, 0) ? json_parse_own(db_text(rows, 0, 0)) : NULL;
    if (!json_is_object(*ret_resources)) {
        json_decref(*ret_resources);
        *ret_resources = json_object();
    }
    return ERR_OK;
}

static enum err_code lives(struct db *db, const struct tenant *tenant, const char *id,
                           bool *ret_lives, struct err *err)
{
    static const struct db_statement find = {
        "thread_store_lives", "SELECT 1 FROM vector_stores v WHERE v.project_id = $1"
                              " AND v.id = $2 AND NOT " VECTOR_STORE_EXPIRED};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_tenant(&args, tenant);
    db_arg_text(&args, id);
    rc = db_exec(db, &find, &args, &rows, err);
    if (!rc)
        *ret_lives = db_count(rows) > 0;
    return rc;
}

static enum err_code name_store(struct db *db, const struct tenant *tenant,
                                const char *thread_id, json_t *resources, const char *id,
                                struct err *err)
{
    static const struct db_statement update = {
        "thread_store_name",
        "UPDATE threads SET tool_resources = $3 WHERE project_id = $1 AND id = $2"};
    AUTO_FREE char *text = NULL;
    AUTO_DB_ARGS args = {0};

    search_resources_set(resources, id);
    text = json_text(resources);
    db_arg_tenant(&args, tenant);
    db_arg_text(&args, thread_id);
    db_arg_text(&args, text);
    return db_exec(db, &update, &args, NULL, err);
}

/* The look at the store takes no lock: files and documents are locked before stores. So the store may have ended
 * meanwhile, which is no error of the request. Any other failure is `rc`, with its error. */
static enum err_code why_not_filled(struct db *db, const struct tenant *tenant, const char *id,
                                    enum err_code rc, struct err *err)
{
    bool living = true;
    enum err_code look = ERR_OK;

    if (rc == ERR_NOT_FOUND || rc == ERR_INVALID)
        look = lives(db, tenant, id, &living, err);
    if (look)
        return look;
    return living ? rc
                  : err_refuse(err, ERR_CONFLICT, REASON_UNSET, THREAD_STORE_PLACE,
                               "The vector store of the thread has ended meanwhile.");
}

enum err_code thread_store_fill(struct db *db, const struct tenant *tenant,
                                const char *thread_id, const struct store_filling *filling,
                                char ret_id[ID_LIMIT + 1], struct err *err)
{
    json_auto_t *resources = NULL;
    struct store_filling into = *filling;
    const char *id;
    bool living = false;
    enum err_code rc = load_resources(db, tenant, thread_id, &resources, err);

    if (rc)
        return rc;
    id = search_resources_store(resources);
    if (id)
        rc = lives(db, tenant, id, &living, err);
    if (rc)
        return rc;
    if (living)
        into = (struct store_filling){
            .store_id = id, .files = filling->files, .count = filling->count};
    (void)snprintf(ret_id, ID_LIMIT + 1, "%s", living ? id : filling->store->id);
    rc = store_filling_make(db, tenant, &into, thread_id, err);
    if (rc && living)
        return why_not_filled(db, tenant, id, rc, err);
    return rc || living ? rc : name_store(db, tenant, thread_id, resources, ret_id, err);
}

enum err_code thread_store_fork(struct db *db, const struct tenant *tenant, const char *from,
                                const char *to, struct err *err)
{
    json_auto_t *resources = NULL;
    char id[ID_SIZE];
    struct store_copy copy = {.from_thread = from, .to = id, .to_thread = to};
    bool copied = false;
    enum err_code rc = load_resources(db, tenant, to, &resources, err);

    if (rc)
        return rc;
    copy.from = search_resources_store(resources);
    if (!copy.from)
        return ERR_OK;
    id_make(id, "vs_");
    rc = vector_store_copy_in(db, tenant, &copy, &copied, err);
    return rc || !copied ? rc : name_store(db, tenant, to, resources, id, err);
}
