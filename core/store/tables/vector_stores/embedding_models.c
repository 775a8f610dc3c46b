#include "core/store/tables/vector_stores/embedding_models.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/pg/db.h"
#include "core/store/pg/state.h"
#include "core/store/tables/vector_stores/vector_bytes.h"
#include "core/store/tables/vector_stores/vector_store_sql.h"

void embedding_model_clear(struct embedding_model *model)
{
    free(model->probe);
    free(model->mean);
    *model = (struct embedding_model){0};
}

void store_set_embedding_model(struct store *store, int id)
{
    atomic_store(&store->embedding_model, id);
}

int store_embedding_model_id(struct store *store)
{
    return atomic_load(&store->embedding_model);
}

#define COLUMNS "m.id, m.dimensions, m.probe, m.mean"

/* Writers wait for each other, readers for nothing. */
static enum err_code lock_models(struct db *db, struct err *err)
{
    static const struct db_statement lock = {"store_embedding_models_lock",
                                             "LOCK TABLE embedding_models IN EXCLUSIVE MODE"};

    return db_exec(db, &lock, NULL, NULL, err);
}

static enum err_code model_read(const struct db_rows *rows, struct embedding_model *model,
                                struct err *err)
{
    embedding_model_clear(model);
    model->id = (int)db_int(rows, 0, 0);
    model->dimensions = (uint32_t)db_int(rows, 0, 1);
    if (!model->dimensions)
        return ERR_OK;
    model->probe = mem_new_array(float, model->dimensions);
    model->mean = mem_new_array(float, model->dimensions);
    if (vector_bytes_read(rows, 0, 2, model->probe, model->dimensions) &&
        vector_bytes_read(rows, 0, 3, model->mean, model->dimensions))
        return ERR_OK;
    embedding_model_clear(model);
    return err_set(err, ERR_INTERNAL, "the embedding model has vectors of another length");
}

static enum err_code read_newest(struct db *db, const char *identity,
                                 struct embedding_model *model, bool *ret_found,
                                 struct err *err)
{
    static const struct db_statement find = {
        "store_embedding_model_newest",
        "SELECT " COLUMNS " FROM embedding_models m"
        " WHERE m.id = (SELECT max(n.id) FROM embedding_models n) AND m.identity = $1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, identity);
    rc = db_exec(db, &find, &args, &rows, err);
    if (rc)
        return rc;
    *ret_found = db_count(rows);
    return *ret_found ? model_read(rows, model, err) : ERR_OK;
}

static enum err_code insert(struct db *db, const char *name, const char *identity,
                            struct embedding_model *model, struct err *err)
{
    static const struct db_statement insert = {
        "store_embedding_model_insert",
        "INSERT INTO embedding_models AS m (id, name, identity, created_at)"
        " SELECT 1 + coalesce(max(n.id), 0), $1, $2, " VECTOR_STORES_NOW
        " FROM embedding_models n RETURNING " COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, name);
    db_arg_text(&args, identity);
    rc = db_exec(db, &insert, &args, &rows, err);
    return rc ? rc : model_read(rows, model, err);
}

enum err_code store_embedding_model_choose(struct store *store, const char *name,
                                           const char *identity,
                                           struct embedding_model *ret_model, struct err *err)
{
    struct embedding_model model = {0};
    AUTO_DB *db = NULL;
    bool found = false;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_models(db, err);
    if (!rc)
        rc = read_newest(db, identity, &model, &found, err);
    if (!rc && !found)
        rc = insert(db, name, identity, &model, err);
    if (!rc)
        rc = db_commit(db, err);
    if (rc)
        embedding_model_clear(&model);
    else
        *ret_model = model;
    return rc;
}

enum err_code store_embedding_model_find(struct store *store, const char *identity,
                                         struct embedding_model *ret_model, struct err *err)
{
    static const struct db_statement find = {"store_embedding_model_find",
                                             "SELECT " COLUMNS
                                             " FROM embedding_models m WHERE m.identity = $1"
                                             " ORDER BY m.id DESC LIMIT 1"};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_text(&args, identity);
    rc = db_once(store, &find, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return err_set(err, ERR_INTERNAL, "the embeddings model has no number");
    return model_read(rows, ret_model, err);
}

enum err_code store_embedding_model_learn(struct store *store, struct embedding_model *model,
                                          struct err *err)
{
    static const struct db_statement learn = {
        "store_embedding_model_learn",
        "UPDATE embedding_models m SET"
        "  probe = CASE WHEN m.dimensions IS NULL THEN $3 ELSE m.probe END,"
        "  mean = CASE WHEN m.dimensions IS NULL THEN $4 ELSE m.mean END,"
        "  dimensions = coalesce(m.dimensions, $2::integer)"
        " WHERE m.id = $1 RETURNING " COLUMNS};
    AUTO_DB_ROWS *rows = NULL;
    AUTO_DB_ARGS args = {0};
    enum err_code rc;

    db_arg_int(&args, model->id);
    db_arg_int(&args, model->dimensions);
    vector_bytes_arg(&args, model->probe, model->dimensions);
    vector_bytes_arg(&args, model->mean, model->dimensions);
    rc = db_once(store, &learn, &args, &rows, err);
    if (rc)
        return rc;
    if (!db_count(rows))
        return err_set(err, ERR_INTERNAL, "the embedding model %d is gone", model->id);
    return model_read(rows, model, err);
}

static enum err_code copy_identity(struct db *db, struct embedding_model *model,
                                   struct err *err)
{
    static const struct db_statement copy = {
        "store_embedding_model_copy",
        "INSERT INTO embedding_models AS m (id, name, identity, created_at)"
        " SELECT o.id + 1, o.name, o.identity, " VECTOR_STORES_NOW
        " FROM embedding_models o WHERE o.id = $1"
        "  AND NOT EXISTS (SELECT FROM embedding_models n WHERE n.id > $1)"};
    AUTO_DB_ARGS args = {0};

    db_arg_int(&args, model->id);
    return db_exec(db, &copy, &args, NULL, err);
}

enum err_code store_embedding_model_renew(struct store *store, const char *identity,
                                          struct embedding_model *model, struct err *err)
{
    AUTO_DB *db = NULL;
    enum err_code rc = db_begin(store, &db, err);

    if (!rc)
        rc = lock_models(db, err);
    if (!rc)
        rc = copy_identity(db, model, err);
    if (!rc)
        rc = db_commit(db, err);
    db_end(TAKE(db));
    return rc ? rc : store_embedding_model_find(store, identity, model, err);
}
