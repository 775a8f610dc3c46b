/*
 * Threads, without the messages and runs in them.
 *
 * A thread is also a conversation: /v1/conversations shows the same row under conv_X, and
 * param_thread_id() accepts either name. Its `runnel` object holds defaults for the runs in it. A run
 * reads them once, when it is created, into its snapshot.
 */

#include "core/store/tables/threads/threads.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/files_view.h"
#include "server/api/api.h"
#include "server/api/file_refs.h"
#include "server/api/named_pictures.h"
#include "server/api/new_store.h"
#include "server/api/request_key.h"
#include "server/encode/encode.h"
#include "server/params/assistants/messages.h"
#include "server/params/params.h"
#include "server/params/runnel_params.h"
#include "server/server.h"

static enum err_code thread_id(const struct request *request, char ret_id[ID_LIMIT + 1],
                               struct err *err)
{
    return param_thread_id(request_param(request, "thread"), "thread_id", ret_id, err);
}

static enum err_code answer(struct request *request, struct thread_row *row)
{
    request_answer(request, 200, encode_thread(row));
    thread_row_clear(row);
    return ERR_OK;
}

enum err_code api_thread_create(struct request *request, struct err *err)
{
    CLEANUP(new_store_clear) struct new_store made = {0};
    struct idempotency idempotency;
    struct thread_row row;
    struct item_row *messages = NULL;
    size_t count = 0;
    enum err_code rc = request_key(request, &idempotency, err);

    if (!rc &&
        named_pictures_wait(request, request_json(request), "", "messages", api_thread_create))
        return ERR_OK;
    if (!rc)
        rc = thread_decode(request_json(request), "", &row, &messages, &count, err);
    if (rc)
        return rc;
    rc = file_refs_check_thread(request, request_json(request), "", err);
    if (!rc)
        rc = new_store_of_thread(request_json(request), "", &row, &made, err);
    if (!rc)
        rc = store_thread_create_once(request_server(request)->store, request_tenant(request),
                                      &idempotency, new_store_filling(&made), &row, messages,
                                      count, err);
    item_rows_free(messages, count);
    if (rc) {
        thread_row_clear(&row);
        return rc;
    }
    return answer(request, &row);
}

enum err_code api_thread_get(struct request *request, struct err *err)
{
    struct thread_row row;
    char id[ID_LIMIT + 1];
    enum err_code rc = thread_id(request, id, err);

    if (!rc)
        rc = store_thread_get(request_server(request)->store, request_tenant(request), id, &row,
                              err);
    return rc ? rc : answer(request, &row);
}

/* The new tool resources as JSON text, which the caller frees. NULL if the request does not change
 * them; null in the request clears them. */
static enum err_code resources_change(const json_t *body, char **ret_text, struct err *err)
{
    const json_t *resources = json_object_get(body, "tool_resources");
    enum err_code rc = ERR_OK;

    if (!resources)
        return ERR_OK;
    if (!json_is_null(resources))
        rc = files_view_check_resources(resources, "tool_resources", err);
    if (!rc)
        *ret_text = json_is_null(resources) ? mem_strdup("{}") : json_text(resources);
    return rc;
}

enum err_code api_thread_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"metadata", "runnel", "tool_resources", NULL};
    const json_t *body = request_json(request);
    AUTO_FREE char *metadata = NULL;
    AUTO_FREE char *resources = NULL;
    AUTO_FREE char *settings = NULL;
    struct thread_row row;
    char id[ID_LIMIT + 1];
    enum err_code rc = thread_id(request, id, err);

    if (!rc)
        rc = param_unknown(body, "", known, err);
    if (!rc)
        rc = param_metadata_change(body, &metadata, err);
    if (!rc)
        rc = resources_change(body, &resources, err);
    if (!rc)
        rc = file_refs_check_resources(request, body, "", err);
    if (!rc)
        rc = new_store_refuse(body, "", err);
    if (!rc)
        rc = runnel_defaults_change(body, &settings, err);
    if (!rc)
        rc = store_thread_modify(request_server(request)->store, request_tenant(request), id,
                                 &(struct thread_change){.metadata = metadata,
                                                         .tool_resources = resources,
                                                         .settings = settings},
                                 &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_thread_delete(struct request *request, struct err *err)
{
    char id[ID_LIMIT + 1];
    enum err_code rc = thread_id(request, id, err);

    if (!rc)
        rc = store_thread_delete(request_server(request)->store, request_tenant(request), id,
                                 err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(id, "thread.deleted"));
    return ERR_OK;
}
