#include "server/api/file_refs.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/files/files.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/api/input_files.h"
#include "server/complaint.h"
#include "server/files/file_finder.h"
#include "server/params/params.h"
#include "server/server.h"

/* What a request names. Each file is a step to the store. */
struct refs {
    size_t files, pictures;
};

static bool is_picture(const json_t *part)
{
    return strcmp(json_get_string(part, "type", ""), "image_file") == 0;
}

static void count_message(struct refs *refs, const json_t *message)
{
    size_t i;
    json_t *part;

    json_array_foreach (json_object_get(message, "content"), i, part)
        refs->pictures += is_picture(part);
    refs->files += json_array_size(json_object_get(message, "attachments"));
}

static enum err_code check_counts(const struct refs *refs, const char *place, struct err *err)
{
    if (refs->pictures > INPUT_PICTURES_LIMIT)
        return err_invalid(err, "invalid_value", place,
                           "Too many pictures: a request may have %zu.", INPUT_PICTURES_LIMIT);
    if (refs->files > FILE_REFS_LIMIT)
        return err_invalid(err, "invalid_value", place,
                           "Too many files: a request may name %zu.", FILE_REFS_LIMIT);
    return ERR_OK;
}

static enum err_code absent(const char *id, const char *place, struct err *err)
{
    return err_refuse(err, ERR_NOT_FOUND, REASON_UNSET, place, "No such File object: %.64s",
                      id);
}

/* object["file_id"] exists. */
static enum err_code check_file(const struct request *request, const json_t *object,
                                const char *place, struct err *err)
{
    const char *id = json_is_string(object) ? json_string_value(object)
                                            : json_get_string(object, "file_id", NULL);
    struct file_row row;
    enum err_code rc;

    if (!id)
        return ERR_OK;
    rc = store_file_get(request_server(request)->store, request_tenant(request), id, &row, err);
    if (rc)
        return rc == ERR_NOT_FOUND ? absent(id, place, err) : rc;
    file_row_clear(&row);
    return ERR_OK;
}

enum err_code file_refs_check_message(const struct request *request, const json_t *message,
                                      const char *path, struct err *err)
{
    struct param_path list = param_key(path, "attachments");
    size_t i;
    json_t *attachment;

    json_array_foreach (json_object_get(message, "attachments"), i, attachment) {
        struct param_path at = param_index(list.text, i);
        struct param_path place = param_key(at.text, "file_id");
        enum err_code rc = check_file(request, attachment, place.text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code file_refs_check_messages(const struct request *request, const json_t *object,
                                       const char *path, const char *key, struct err *err)
{
    struct param_path list = param_key(path, key);
    const json_t *messages = json_object_get(object, key);
    struct refs refs = {0};
    enum err_code rc;
    size_t i;
    json_t *message;

    json_array_foreach (messages, i, message)
        count_message(&refs, message);
    rc = check_counts(&refs, list.text, err);
    json_array_foreach (messages, i, message) {
        if (rc)
            return rc;
        rc = file_refs_check_message(request, message, param_index(list.text, i).text, err);
    }
    return rc;
}

static enum err_code check_list(const struct request *request, const json_t *ids,
                                const char *path, struct err *err)
{
    size_t i;
    json_t *id;

    json_array_foreach (ids, i, id) {
        enum err_code rc = check_file(request, id, param_index(path, i).text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

/* The texts of a list, or NULL if it has anything else; other checks complain about that. */
static const char **texts_of(const json_t *list)
{
    const char **texts = mem_new_array(const char *, json_array_size(list) + 1);
    size_t i;
    json_t *text;

    json_array_foreach (list, i, text) {
        texts[i] = json_string_value(text);
        if (!texts[i]) {
            free(texts);
            return NULL;
        }
    }
    return texts;
}

/* The files of one store that is to be made: in one statement, because they may be thousands. */
static enum err_code check_helper(const struct request *request, const json_t *helper,
                                  const char *path, struct err *err)
{
    struct param_path list = param_key(path, "file_ids");
    const json_t *ids = json_object_get(helper, "file_ids");
    size_t count = json_array_size(ids), index = 0;
    AUTO_FREE const char **texts = texts_of(ids);
    bool missing = false;
    enum err_code rc;

    if (!texts || !count || count > VECTOR_STORE_FILES_LIMIT)
        return ERR_OK;
    rc = store_files_missing(request_server(request)->store, request_tenant(request), texts,
                             count, &missing, &index, err);
    if (rc || !missing)
        return rc;
    return absent(texts[index], param_index(list.text, index).text, err);
}

static enum err_code check_helpers(const struct request *request, const json_t *search,
                                   const char *path, struct err *err)
{
    struct param_path list = param_key(path, "vector_stores");
    size_t i;
    json_t *helper;

    json_array_foreach (json_object_get(search, "vector_stores"), i, helper) {
        enum err_code rc = check_helper(request, helper, param_index(list.text, i).text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code file_refs_check_resources(const struct request *request, const json_t *object,
                                        const char *path, struct err *err)
{
    struct param_path place = param_key(path, "tool_resources");
    json_t *resources = json_object_get(object, "tool_resources");
    struct refs refs = {0};
    enum err_code rc;
    const char *tool;
    json_t *resource;

    json_object_foreach (resources, tool, resource)
        refs.files += json_array_size(json_object_get(resource, "file_ids"));
    rc = check_counts(&refs, place.text, err);
    json_object_foreach (resources, tool, resource) {
        struct param_path at = param_key(place.text, tool);

        if (!rc)
            rc = file_finder_check_stores(request_server(request), request_tenant(request),
                                          json_object_get(resource, "vector_store_ids"),
                                          param_key(at.text, "vector_store_ids").text, err);
        if (rc)
            return rc;
        rc = check_list(request, json_object_get(resource, "file_ids"),
                        param_key(at.text, "file_ids").text, err);
        if (!rc)
            rc = check_helpers(request, resource, at.text, err);
    }
    return rc;
}

enum err_code file_refs_check_thread(const struct request *request, const json_t *thread,
                                     const char *path, struct err *err)
{
    enum err_code rc = file_refs_check_resources(request, thread, path, err);

    return rc ? rc : file_refs_check_messages(request, thread, path, "messages", err);
}
