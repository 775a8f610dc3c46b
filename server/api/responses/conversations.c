/*
 * Conversations and their items: threads, as the Responses API sees them.
 *
 * conv_X is the thread thread_X. There is no second table, so a conversation can be continued by a run
 * of the Assistants API and the other way round. Only the names and the error texts differ, hence
 * conversation_error() around functions of the store that serve both.
 *
 * Items come in as the input of a response does, with the same decoder. A reference to an item
 * elsewhere (item_reference) is replaced by a copy, since an item belongs to one place. A compaction
 * item is unsealed here, so that one which another project sealed is refused at once and not by a
 * later response.
 *
 * While a response or a run of the conversation is active, items are neither added nor deleted:
 * conversation_locked, checked by the store under the lock of the row. Applications add items right behind a
 * response, often before it has ended. So that request waits a moment, and is refused with a status after which
 * SDKs try again. A deletion is refused at once.
 */

#include "core/store/tables/threads/conversations.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/compaction.h"
#include "core/run/context/past_reasoning.h"
#include "core/store/tables/threads/threads.h"
#include "server/api/api.h"
#include "server/api/input_files.h"
#include "server/api/request_key.h"
#include "server/api/responses/response_read.h"
#include "server/api/run_end.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/params/responses/response_input.h"
#include "server/params/responses/response_params.h"
#include "server/pictures/kept_pictures.h"
#include "server/server.h"

/* Items that one request may add: OpenAI's limit. */
#define CONVERSATION_ITEMS_LIMIT ((size_t)20)

/* So long do new items wait for the end of a run. */
#define LOCK_PATIENCE_NS (3 * NS_PER_SECOND)

/* The conversation and the item in the path of a request. `item` is borrowed from the request. */
struct place {
    struct store *store;
    const struct tenant *tenant;
    char thread[ID_LIMIT + 1];
    const char *item; /* "" if the path has no item */
};

static enum err_code conversation_place(const struct request *request, struct place *ret_place,
                                        struct err *err)
{
    *ret_place = (struct place){
        .store = request_server(request)->store, .tenant = request_tenant(request), .item = ""};
    return param_conversation_id(request_param(request, "conversation"), "conversation_id",
                                 ret_place->thread, err);
}

/* Each type of item has its own prefix, so any prefix is accepted. */
static enum err_code item_place(const struct request *request, struct place *ret_place,
                                struct err *err)
{
    enum err_code rc = conversation_place(request, ret_place, err);

    if (rc)
        return rc;
    ret_place->item = request_param(request, "item");
    return param_id(ret_place->item, "", "item_id", err);
}

static enum err_code answer(struct request *request, struct thread_row *row)
{
    request_answer(request, 200, encode_conversation(row));
    thread_row_clear(row);
    return ERR_OK;
}

/* The items of the body. Those that it names by reference are copied. The caller frees *ret_items. */
static enum err_code decode_items(struct request *request, enum param_need need,
                                  struct item_row **ret_items, size_t *ret_count,
                                  struct err *err)
{
    const json_t *body = request_json(request);
    struct item_references references;
    enum err_code rc =
        item_references_load(request_server(request)->store, request_tenant(request),
                             json_object_get(body, "items"), NULL, 0, &references, err);

    if (!rc)
        rc = response_items_decode(body, "items", need, CONVERSATION_ITEMS_LIMIT, &references,
                                   ret_items, ret_count, err);
    item_references_clear(&references);
    if (rc)
        return rc;
    past_reasoning_open(&request_server(request)->seal, request_tenant(request), *ret_items,
                        *ret_count);
    rc = compaction_open(&request_server(request)->seal, request_tenant(request), *ret_items,
                         *ret_count, err);
    if (rc) {
        item_rows_free(TAKE(*ret_items), *ret_count);
        *ret_count = 0;
    }
    return rc;
}

/* ---- Conversations ---- */

static void init_row(struct thread_row *row, const json_t *metadata)
{
    *row = (struct thread_row){
        .metadata = metadata ? json_text(metadata) : mem_strdup("{}"),
        .tool_resources = mem_strdup("{}"),
        .created_at = clock_wall_us(),
    };
    id_make(row->id, "thread_");
}

enum err_code api_conversation_create(struct request *request, struct err *err)
{
    static const char *const known[] = {"metadata", "items", NULL};
    const json_t *body = request_json(request);
    struct item_row *items = NULL;
    struct idempotency idempotency;
    struct thread_row row;
    json_t *metadata = NULL;
    size_t count = 0;
    enum err_code rc;

    if (input_files_wait(request, "items", api_conversation_create))
        return ERR_OK;
    rc = request_key(request, &idempotency, err);
    if (!rc)
        rc = param_unknown(body, "", known, err);
    if (!rc)
        rc = param_metadata(body, &metadata, err);
    if (!rc)
        rc = decode_items(request, PARAM_OPTIONAL, &items, &count, err);
    if (rc)
        return rc;
    init_row(&row, metadata);
    rc = store_conversation_create(request_server(request)->store, request_tenant(request),
                                   &idempotency, &row, items, count, err);
    item_rows_free(items, count);
    if (rc) {
        thread_row_clear(&row);
        return rc;
    }
    return answer(request, &row);
}

enum err_code api_conversation_get(struct request *request, struct err *err)
{
    struct place place;
    struct thread_row row;
    enum err_code rc = conversation_place(request, &place, err);

    if (rc)
        return rc;
    rc = store_thread_get(place.store, place.tenant, place.thread, &row, err);
    return rc ? conversation_error(rc, place.thread, err) : answer(request, &row);
}

enum err_code api_conversation_modify(struct request *request, struct err *err)
{
    static const char *const known[] = {"metadata", NULL};
    const json_t *body = request_json(request);
    AUTO_FREE char *metadata = NULL;
    struct place place;
    struct thread_row row;
    enum err_code rc = conversation_place(request, &place, err);

    if (!rc)
        rc = param_unknown(body, "", known, err);
    if (!rc)
        rc = param_metadata_change(body, &metadata, err);
    if (!rc && !metadata)
        rc = param_missing(err, "metadata");
    if (rc)
        return rc;
    rc = store_thread_modify(place.store, place.tenant, place.thread,
                             &(struct thread_change){.metadata = metadata}, &row, err);
    return rc ? conversation_error(rc, place.thread, err) : answer(request, &row);
}

enum err_code api_conversation_delete(struct request *request, struct err *err)
{
    struct place place;
    char id[ID_SIZE];
    enum err_code rc = conversation_place(request, &place, err);

    if (rc)
        return rc;
    rc = store_thread_delete(place.store, place.tenant, place.thread, err);
    if (rc)
        return conversation_error(rc, place.thread, err);
    encode_conversation_id(place.thread, id);
    request_answer(request, 200, encode_deleted(id, "conversation.deleted"));
    return ERR_OK;
}

/* ---- Items ---- */

/* Takes the rows. */
static enum err_code answer_list(struct request *request, struct item_row *items, size_t count,
                                 unsigned include, bool more, struct err *err)
{
    enum err_code rc = answer_items(request, items, count, include, more, err);

    item_rows_free(items, count);
    return rc;
}

/* Items that a request adds, and where. The key is a copy: the request may lose its headers while it
 * waits. */
struct addition {
    struct place place;
    struct idempotency idempotency;
    char key[IDEMPOTENCY_KEY_LIMIT + 1];
    struct item_row *items;
    size_t count;
};

static void addition_free(void *arg)
{
    struct addition *addition = arg;

    item_rows_free(addition->items, addition->count);
    free(addition);
}

/* Answers if it succeeds, and takes the addition then. */
static enum err_code append(struct request *request, struct addition *addition, struct err *err)
{
    const struct place *place = &addition->place;
    enum err_code rc =
        store_conversation_append(place->store, place->tenant, &addition->idempotency,
                                  place->thread, addition->items, &addition->count, err);

    if (rc)
        return rc;
    rc = answer_items(request, addition->items, addition->count, 0, false, err);
    if (!rc)
        addition_free(addition);
    return rc;
}

static enum err_code addition_key(const struct request *request, struct addition *addition,
                                  struct err *err)
{
    enum err_code rc = request_key(request, &addition->idempotency, err);

    if (rc)
        return rc;
    (void)snprintf(addition->key, sizeof(addition->key), "%s", addition->idempotency.key);
    addition->idempotency.key = addition->key;
    return ERR_OK;
}

static bool is_locked(enum err_code rc, const struct err *err)
{
    return rc == ERR_CONFLICT && err->reason == REASON_CONVERSATION_LOCKED;
}

/* The run has ended, or the time is over: then with a status that makes SDKs try again by themselves. */
static enum err_code append_again(struct request *request, void *arg, struct err *err)
{
    struct addition *addition = arg;
    enum err_code rc = append(request, addition, err);

    if (!rc)
        return ERR_OK;
    addition_free(addition);
    if (!is_locked(rc, err))
        return rc;
    request_set_header(request, "x-should-retry", "true");
    err->code = ERR_TAKEN;
    return ERR_TAKEN;
}

/* Takes the addition. A run that waits for its client does not end by itself. */
static enum err_code append_later(struct request *request, struct addition *addition,
                                  struct err *err)
{
    const struct place *place = &addition->place;
    CLEANUP(run_row_clear) struct run_row run = {0};

    if (store_conversation_run(place->store, place->tenant, place->thread, &run, NULL) ||
        run.status == RUN_REQUIRES_ACTION)
        return append_again(request, addition, err);
    run_end_await_shortly(request, &run, LOCK_PATIENCE_NS,
                          &(struct request_later){
                              .resume = append_again, .drop = addition_free, .arg = addition});
    return ERR_OK;
}

enum err_code api_conversation_item_create(struct request *request, struct err *err)
{
    static const char *const known[] = {"items", NULL};
    struct addition *addition;
    unsigned include = 0; /* what the client has sent is shown in any case */
    enum err_code rc;

    if (input_files_wait(request, "items", api_conversation_item_create))
        return ERR_OK;
    addition = mem_new(struct addition);
    rc = conversation_place(request, &addition->place, err);
    if (!rc)
        rc = addition_key(request, addition, err);
    if (!rc)
        rc = param_unknown(request_json(request), "", known, err);
    if (!rc)
        rc = param_item_include(request, &include, err);
    if (!rc)
        rc = decode_items(request, PARAM_REQUIRED, &addition->items, &addition->count, err);
    if (!rc && !addition->count)
        rc = param_empty_array(err, "items");
    if (!rc)
        rc = append(request, addition, err);
    if (is_locked(rc, err))
        return append_later(request, addition, err);
    if (rc)
        addition_free(addition);
    return rc;
}

enum err_code api_conversation_item_list(struct request *request, struct err *err)
{
    struct item_row *items = NULL;
    struct place place;
    struct page page;
    size_t count = 0;
    bool more = false;
    unsigned include = 0;
    enum err_code rc = conversation_place(request, &place, err);

    if (!rc)
        rc = param_page(request, &page, err);
    if (!rc)
        rc = param_item_include(request, &include, err);
    if (!rc)
        rc = store_conversation_items(place.store, place.tenant, place.thread, &page, &items,
                                      &count, &more, err);
    return rc ? rc : answer_list(request, items, count, include, more, err);
}

enum err_code api_conversation_item_get(struct request *request, struct err *err)
{
    struct place place;
    struct item_row item;
    unsigned include = 0;
    enum err_code rc = item_place(request, &place, err);

    if (!rc)
        rc = param_item_include(request, &include, err);
    if (!rc)
        rc = store_conversation_item_get(place.store, place.tenant, place.thread, place.item,
                                         &item, err);
    if (rc)
        return rc;
    rc = kept_pictures_fill(request_server(request), place.tenant, &item, 1, err);
    if (!rc)
        request_answer(request, 200, encode_item(&item, include));
    item_row_clear(&item);
    return rc;
}

enum err_code api_conversation_item_delete(struct request *request, struct err *err)
{
    struct place place;
    struct thread_row row;
    enum err_code rc = item_place(request, &place, err);

    if (!rc)
        rc = store_conversation_item_delete(place.store, place.tenant, place.thread, place.item,
                                            &row, err);
    return rc ? rc : answer(request, &row);
}
