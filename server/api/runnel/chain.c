/*
 * The chain of tool calls of a response or a run, complete. An extension.
 *
 * Clients that show what an agent did need every call with its arguments, its result and its times,
 * in one object, and in the same form for both APIs. All of that is in the items already. So nothing
 * is stored for this endpoint: it loads the items of the run and renders them (encode_chain.h). All
 * of them are in memory at once, because the answer is one object.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/tables/runs/runs.h"
#include "server/api/api.h"
#include "server/encode/encode_chain.h"
#include "server/params/params.h"
#include "server/server.h"

#define PAGE_SIZE 100 /* items that one query returns */

struct made {
    struct item_row *items;
    size_t count;
};

static void made_clear(struct made *made)
{
    item_rows_free(TAKE(made->items), made->count);
}

static void add_page(struct made *made, struct item_row *items, size_t count)
{
    made->items = mem_resize(made->items, made->count + count + 1, sizeof(*items));
    memcpy(made->items + made->count, items, count * sizeof(*items));
    made->count += count;
    free(items);
}

/* Loads all items that the run has made, oldest first, page after page. The caller clears *made, after a
 * failure too. */
static enum err_code load(struct store *store, const struct tenant *tenant,
                          const struct run_row *run, struct made *made, struct err *err)
{
    struct page page = {.limit = PAGE_SIZE, .ascending = true};
    bool more = true;

    while (more) {
        struct item_row *items = NULL;
        size_t count = 0;
        enum err_code rc =
            store_run_items(store, tenant, run->id, false, &page, &items, &count, &more, err);

        if (rc)
            return rc;
        add_page(made, items, count);
        if (count)
            (void)snprintf(page.after, sizeof(page.after), "%s",
                           made->items[made->count - 1].id);
    }
    return ERR_OK;
}

/* A foreground response that has not ended is visible on its client's connection only. */
static bool is_hidden(const struct run_row *run)
{
    return !(run->flags & RUN_RESUMABLE) && !run_status_is_final(run->status);
}

static enum err_code answer(struct request *request, const char *thread_id, const char *run_id,
                            struct err *err)
{
    struct store *store = request_server(request)->store;
    CLEANUP(run_row_clear) struct run_row run = {0};
    CLEANUP(made_clear) struct made made = {0};
    enum err_code rc =
        store_run_get(store, request_tenant(request), thread_id, run_id, &run, err);

    if (!rc && is_hidden(&run))
        rc = err_set(err, ERR_NOT_FOUND, "Response with id '%s' not found.", run_id);
    if (!rc)
        rc = load(store, request_tenant(request), &run, &made, err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_chain(&run, made.items, made.count));
    return ERR_OK;
}

enum err_code api_response_chain(struct request *request, struct err *err)
{
    return answer(request, NULL, request_param(request, "response"), err);
}

enum err_code api_run_chain(struct request *request, struct err *err)
{
    char thread_id[ID_LIMIT + 1];
    enum err_code rc =
        param_thread_id(request_param(request, "thread"), "thread_id", thread_id, err);

    if (!rc)
        rc = param_id(request_param(request, "run"), "run", "run_id", err);
    return rc ? rc : answer(request, thread_id, request_param(request, "run"), err);
}
