/*
 * response_past.c -- the history of a chain: from memory as far as possible, from the store otherwise.
 *
 *   the newest response, from the store ── known by its id?              ─▶ the history is here
 *                                       ── its parent's history is here? ─▶ this response's items behind it
 *                                       ── it has no parent?             ─▶ its items are the history
 *                                       ── otherwise                     ─▶ the store reads the whole chain
 *
 * The first look-up is made in any case. It says whether the response may be continued at all: it may have been
 * deleted, on any node. Older responses of a chain need no look. Their items stay for as long as one response
 * continues them, deleted or not (core/store/tables/threads/deleted.c).
 *
 * What may still change is not kept: items of a conversation, and results that wait for an approval. A history beyond
 * the limit of items is read from the store each time, because its beginning moves.
 *
 * The slow twin is store_chain_load() alone. The end-to-end test compares what models are sent either way.
 */

#include "server/api/responses/response_past.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/item.h"
#include "core/run/context/past/past_text.h"
#include "core/run/engine/engine.h"
#include "core/store/tables/runs/runs.h"
#include "server/api/responses/chain_cache.h"

/* The only items that change after their response has ended. */
static bool may_change(const struct item_row *item)
{
    return *item->thread_id || (item->body && strstr(item->body, "\"model_visible\":"));
}

static bool may_be_kept(const struct chain_history *past)
{
    for (size_t i = 0; i < past->count; i++) {
        if (may_change(&past->items[i]))
            return false;
    }
    return true;
}

static struct item_row *copies_of(const struct item_row *items, size_t count)
{
    struct item_row *copies = mem_new_array(struct item_row, count);

    for (size_t i = 0; i < count; i++)
        item_row_copy(&copies[i], &items[i]);
    return copies;
}

/* The parent's history grows by the items of the response. Takes them. */
static void grow(struct chain_history *past, struct item_row *items, size_t count)
{
    past->text = past_text_add(past->text, items, count);
    past->items = mem_resize(past->items, past->count + count, sizeof(*items));
    memcpy(past->items + past->count, items, count * sizeof(*items));
    past->count += count;
    free(items);
}

/* The history, if memory and the newest response suffice for it. */
static enum err_code find(struct server *server, const struct tenant *tenant,
                          const char *response_id, struct chain_history *ret_past,
                          bool *ret_found, struct err *err)
{
    char parent[ID_SIZE];
    struct item_row *items = NULL;
    size_t count = 0;
    enum err_code rc = store_chain_newest(server->store, tenant, response_id, ret_found, parent,
                                          &items, &count, err);

    if (rc || !*ret_found)
        return rc;
    if (chain_cache_take(server->chain_cache, tenant, response_id, ret_past)) {
        item_rows_free(items, count);
        return ERR_OK;
    }
    *ret_found = !*parent || chain_cache_take(server->chain_cache, tenant, parent, ret_past);
    if (!*ret_found) {
        item_rows_free(items, count);
        return ERR_OK;
    }
    if (!*parent)
        ret_past->text = past_text_new(NULL, 0);
    grow(ret_past, items, count);
    return ERR_OK;
}

/* Copies for the response; the history itself goes back to the cache. */
static void hand_out(struct server *server, const struct tenant *tenant,
                     const char *response_id, struct chain_history *past,
                     struct item_row **ret_items, size_t *ret_count,
                     struct past_text **ret_text)
{
    *ret_count = past->count;
    *ret_text = past_text_hold(past->text);
    *ret_items = copies_of(past->items, past->count);
    chain_cache_put(server->chain_cache, tenant, response_id, past);
}

/* The history, from memory or whole from the store. */
static enum err_code load(struct server *server, const struct tenant *tenant,
                          const char *response_id, struct chain_history *ret_past,
                          bool *ret_cut, struct err *err)
{
    size_t limit = engine_context_limit(server->engine);
    char thread[ID_SIZE]; /* a chain leaves the conversation it branched from */
    bool found = false;
    enum err_code rc = ERR_OK;

    if (server->chain_cache)
        rc = find(server, tenant, response_id, ret_past, &found, err);
    if (rc || (found && ret_past->count <= limit))
        return rc;
    chain_history_clear(ret_past);
    rc = store_chain_load(server->store, tenant, response_id, limit, &ret_past->items,
                          &ret_past->count, ret_cut, thread, err);
    if (!rc && server->chain_cache && !*ret_cut)
        ret_past->text = past_text_new(ret_past->items, ret_past->count);
    return rc;
}

enum err_code response_past_load(struct server *server, const struct tenant *tenant,
                                 const char *response_id, struct item_row **ret_items,
                                 size_t *ret_count, bool *ret_cut, struct past_text **ret_text,
                                 struct err *err)
{
    struct chain_history past = {0};
    enum err_code rc = load(server, tenant, response_id, &past, ret_cut, err);

    if (rc)
        return rc;
    if (server->chain_cache && !*ret_cut && may_be_kept(&past)) {
        hand_out(server, tenant, response_id, &past, ret_items, ret_count, ret_text);
        return ERR_OK;
    }
    past_text_release(past.text);
    *ret_items = past.items;
    *ret_count = past.count;
    return ERR_OK;
}
