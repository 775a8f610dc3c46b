/*
 * The messages of a thread.
 *
 * A message is an item of type "message", in the form of the Responses API (messages.h). The same row
 * is shown here as a message of a thread, and under /v1/conversations as an item.
 *
 * While a run of the thread is active, messages are neither added nor deleted: the run has its
 * context in memory, and would write an answer to a thread that no longer is what it read. The
 * store checks that under the lock of the thread's row. Only metadata may change at any time,
 * because no run reads it.
 */

#include "server/params/assistants/messages.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/threads/threads.h"
#include "server/api/api.h"
#include "server/api/file_refs.h"
#include "server/api/named_pictures.h"
#include "server/api/new_store.h"
#include "server/api/request_key.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/server.h"

/* The thread and the message in the path of a request. `message` is borrowed from the request. */
struct place {
    struct store *store;
    const struct tenant *tenant;
    char thread[ID_LIMIT + 1];
    const char *message; /* "" if the path has no message */
};

static enum err_code thread_place(const struct request *request, struct place *ret_place,
                                  struct err *err)
{
    *ret_place = (struct place){.store = request_server(request)->store,
                                .tenant = request_tenant(request),
                                .message = ""};
    return param_thread_id(request_param(request, "thread"), "thread_id", ret_place->thread,
                           err);
}

static enum err_code message_place(const struct request *request, struct place *ret_place,
                                   struct err *err)
{
    enum err_code rc = thread_place(request, ret_place, err);

    if (rc)
        return rc;
    ret_place->message = request_param(request, "message");
    return param_id(ret_place->message, "msg_", "message_id", err);
}

static enum err_code answer(struct request *request, struct item_row *row)
{
    request_answer(request, 200, encode_message(row));
    item_row_clear(row);
    return ERR_OK;
}

enum err_code api_message_create(struct request *request, struct err *err)
{
    CLEANUP(new_store_clear) struct new_store made = {0};
    json_auto_t *messages = NULL;
    struct idempotency idempotency;
    struct place place;
    struct item_row row;
    enum err_code rc = thread_place(request, &place, err);

    if (!rc)
        rc = request_key(request, &idempotency, err);
    if (!rc &&
        named_pictures_wait(request, request_json(request), "", NULL, api_message_create))
        return ERR_OK;
    if (!rc)
        rc = message_decode(request_json(request), "", place.thread, &row, err);
    if (rc)
        return rc;

    rc = file_refs_check_message(request, request_json(request), "", err);
    messages = json_build("[O]", request_json(request));
    new_store_of_messages(messages, &made);
    if (!rc)
        rc = store_message_create_once(place.store, place.tenant, &idempotency,
                                       new_store_filling(&made), &row, err);
    if (rc) {
        item_row_clear(&row);
        return rc;
    }
    return answer(request, &row);
}

enum err_code api_message_get(struct request *request, struct err *err)
{
    struct place place;
    struct item_row row;
    enum err_code rc = message_place(request, &place, err);

    if (!rc)
        rc = store_message_get(place.store, place.tenant, place.thread, place.message, &row,
                               err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_message_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"metadata", NULL};
    const json_t *body = request_json(request);
    AUTO_FREE char *metadata = NULL;
    struct place place;
    struct item_row row;
    enum err_code rc = message_place(request, &place, err);

    if (!rc)
        rc = param_unknown(body, "", known, err);
    if (!rc)
        rc = param_metadata_change(body, &metadata, err);
    if (!rc)
        rc = store_message_modify(place.store, place.tenant, place.thread, place.message,
                                  metadata, &row, err);
    return rc ? rc : answer(request, &row);
}

enum err_code api_message_delete(struct request *request, struct err *err)
{
    struct place place;
    enum err_code rc = message_place(request, &place, err);

    if (!rc)
        rc = store_message_delete(place.store, place.tenant, place.thread, place.message, err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_deleted(place.message, "thread.message.deleted"));
    return ERR_OK;
}

/* The query parameter run_id, which narrows the list. A run of another thread is no error: the list is
 * empty then. */
static enum err_code run_filter(const struct request *request, const char **ret_run,
                                struct err *err)
{
    const char *run = request_query(request, "run_id");

    *ret_run = run && *run ? run : NULL;
    return *ret_run ? param_id(run, "run_", "run_id", err) : ERR_OK;
}

enum err_code api_message_list(struct request *request, struct err *err)
{
    struct item_row *rows = NULL;
    struct place place;
    struct page page;
    const char *run;
    size_t count = 0;
    bool more;
    enum err_code rc = thread_place(request, &place, err);

    if (!rc)
        rc = param_page(request, &page, err);
    if (!rc)
        rc = run_filter(request, &run, err);
    if (!rc)
        rc = store_message_list(place.store, place.tenant, place.thread, run, &page, &rows,
                                &count, &more, err);
    if (rc)
        return rc;

    answer_rows(request, rows, count, more, encode_message);
    item_rows_free(rows, count);
    return ERR_OK;
}
