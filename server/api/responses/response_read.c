#include "server/api/responses/response_read.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/store/tables/runs/runs.h"
#include "server/encode/encode.h"
#include "server/pictures/kept_pictures.h"
#include "server/server.h"

static enum err_code load_output(struct request *request, const struct run_row *run,
                                 unsigned include, json_t **ret_output, struct err *err)
{
    struct page page = {.limit = 100, .ascending = true};
    json_auto_t *output = json_array();
    bool more = run->status != RUN_CANCELLED;

    while (more) {
        struct item_row *items = NULL;
        size_t count = 0;
        enum err_code rc =
            store_run_items(request_server(request)->store, request_tenant(request), run->id,
                            false, &page, &items, &count, &more, err);

        if (rc)
            return rc;
        rc = kept_pictures_fill(request_server(request), request_tenant(request), items, count,
                                err);
        if (rc) {
            item_rows_free(items, count);
            return rc;
        }
        for (size_t i = 0; i < count; i++)
            json_array_append_new(output, encode_item(&items[i], include));
        if (count)
            (void)snprintf(page.after, sizeof(page.after), "%s", items[count - 1].id);
        item_rows_free(items, count);
    }
    *ret_output = json_incref(output);
    return ERR_OK;
}

enum err_code response_read(struct request *request, const struct run_row *run,
                            unsigned include, json_t **ret_object, struct err *err)
{
    json_t *output = NULL;
    enum err_code rc = load_output(request, run, include, &output, err);

    if (rc)
        return rc;
    *ret_object = encode_response(run, output);
    return ERR_OK;
}

enum err_code answer_items(struct request *request, struct item_row *items, size_t count,
                           unsigned include, bool more, struct err *err)
{
    enum err_code rc =
        kept_pictures_fill(request_server(request), request_tenant(request), items, count, err);
    json_t *data;

    if (rc)
        return rc;
    data = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(data, encode_item(&items[i], include));
    request_answer(request, 200, encode_list(data, more));
    return ERR_OK;
}

/* The log is kept a little longer, in partitions of whole days, and
 * clients must not come to rely on that. */
bool response_log_is_over(const struct run_row *run, const struct config *config)
{
    int64_t ended = run->completed_at + run->failed_at + run->cancelled_at + run->incomplete_at;

    return run_status_is_final(run->status) &&
           clock_wall_us() - ended > (int64_t)(config->event_retention * 1e6);
}
