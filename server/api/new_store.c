#include "server/api/new_store.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/search_resources.h"
#include "server/complaint.h"
#include "server/params/params.h"

/*
 * The helper of a request is one more form of `tool_resources`, and only on the way in: what is stored and shown has
 * the id. The id is made here, before the transaction, so that the assistant or thread can be stored with it in the
 * same transaction as the store.
 */

void new_store_clear(struct new_store *store)
{
    vector_store_row_clear(&store->row);
    file_list_clear(&store->files);
}

/* object.tool_resources.file_search, or NULL. */
static const json_t *search_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "tool_resources"), "file_search");
}

static struct param_path search_path(const char *path)
{
    return param_key(param_key(path, "tool_resources").text, "file_search");
}

static void make_row(struct new_store *store, const json_t *metadata, int days)
{
    store->row = (struct vector_store_row){
        .name = mem_strdup(""),
        .metadata = metadata ? json_text(metadata) : mem_strdup("{}"),
        .expires_days = days,
        .created_at = clock_wall_us(),
    };
    id_make(store->row.id, "vs_");
    store->filling.store = &store->row;
}

static void set_files(struct new_store *store)
{
    store->filling.files = store->files.files;
    store->filling.count = store->files.count;
}

static enum err_code read_helper(const json_t *helper, const char *path, int days,
                                 struct new_store *ret_store, struct err *err)
{
    static const char *const known[] = {"file_ids", "chunking_strategy", "metadata", NULL};
    json_t *metadata = NULL;
    enum err_code rc = param_unknown(helper, path, known, err);

    if (!rc)
        rc = param_metadata_at(helper, path, &metadata, err);
    if (!rc)
        rc = file_ids_read(helper, path, VECTOR_STORE_FILES_LIMIT, &ret_store->files, err);
    if (rc)
        return rc;
    make_row(ret_store, metadata, days);
    return ERR_OK;
}

enum err_code new_store_read(const json_t *object, const char *path, int days,
                             struct new_store *ret_store, struct err *err)
{
    const json_t *search = search_of(object);
    const json_t *helpers = json_object_get(search, "vector_stores");
    struct param_path at = param_key(search_path(path).text, "vector_stores");
    enum err_code rc;

    if (!json_array_size(helpers))
        return ERR_OK;
    if (json_array_size(json_object_get(search, "vector_store_ids")))
        return err_invalid(err, "mutually_exclusive_parameters", at.text,
                           "Provide only one of 'vector_store_ids' and 'vector_stores'.");
    rc = read_helper(json_array_get(helpers, 0), param_index(at.text, 0).text, days, ret_store,
                     err);
    if (rc)
        return rc;
    set_files(ret_store);
    return ERR_OK;
}

enum err_code new_store_of_thread(const json_t *thread, const char *path,
                                  struct thread_row *row, struct new_store *ret_store,
                                  struct err *err)
{
    const json_t *resources = json_object_get(thread, "tool_resources");
    const char *given = search_resources_store(resources);
    json_auto_t *kept = NULL;
    enum err_code rc = new_store_read(thread, path, THREAD_STORE_DAYS, ret_store, err);

    if (rc)
        return rc;
    file_list_add_attachments(&ret_store->files, json_object_get(thread, "messages"));
    set_files(ret_store);
    if (given) {
        ret_store->filling.store_id = given;
        return ERR_OK;
    }
    if (!ret_store->filling.store && ret_store->filling.count)
        make_row(ret_store, NULL, THREAD_STORE_DAYS);
    if (!ret_store->filling.store)
        return ERR_OK;
    kept = new_store_resources(ret_store, resources);
    free(row->tool_resources);
    row->tool_resources = json_text(kept);
    return ERR_OK;
}

void new_store_of_messages(const json_t *messages, struct new_store *ret_store)
{
    file_list_add_attachments(&ret_store->files, messages);
    set_files(ret_store);
    if (ret_store->filling.count)
        make_row(ret_store, NULL, THREAD_STORE_DAYS);
}

enum err_code new_store_refuse(const json_t *object, const char *path, struct err *err)
{
    struct param_path at = param_key(search_path(path).text, "vector_stores");

    if (!json_array_size(json_object_get(search_of(object), "vector_stores")))
        return ERR_OK;
    return err_invalid(
        err, "unknown_parameter", at.text,
        "Unknown parameter: '%s'. A store is made with an assistant or a thread; "
        "here only 'vector_store_ids' can be given.",
        at.text);
}

const struct store_filling *new_store_filling(const struct new_store *store)
{
    return store->filling.store || store->filling.count ? &store->filling : NULL;
}

json_t *new_store_resources(const struct new_store *store, const json_t *resources)
{
    json_t *kept = json_is_object(resources) ? json_deep_copy(resources) : json_object();

    search_resources_set(kept, store->row.id);
    return kept;
}
