/*
 * Run steps: what a run did, one step at a time.
 *
 * Steps are the view that the Assistants API has of a turn's items. A step's row has its type, status,
 * usage and times. Its contents are the items that carry its id, so nothing is stored twice. The
 * store returns each step together with these items, with one query for the items of a whole page.
 *
 * include[] names details that a step shows only on request (step_include.h).
 */

#include <stdlib.h>

#include "core/store/tables/runs/runs.h"
#include "server/api/api.h"
#include "server/encode/encode.h"
#include "server/params/params.h"
#include "server/server.h"

static enum err_code read_ids(const struct request *request, char ret_thread[ID_LIMIT + 1],
                              struct err *err)
{
    enum err_code rc =
        param_thread_id(request_param(request, "thread"), "thread_id", ret_thread, err);

    if (rc)
        return rc;
    return param_id(request_param(request, "run"), "run", "run_id", err);
}

enum err_code api_step_list(struct request *request, struct err *err)
{
    struct page page;
    struct step_load *steps = NULL;
    unsigned include = 0;
    size_t count = 0;
    bool more = false;
    json_t *data;
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (rc)
        return rc;
    rc = param_page(request, &page, err);
    if (!rc)
        rc = param_step_include(request, &include, err);
    if (rc)
        return rc;
    rc = store_step_list(request_server(request)->store, request_tenant(request), thread_id,
                         request_param(request, "run"), &page, &steps, &count, &more, err);
    if (rc)
        return rc;
    data = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(data, encode_step(&steps[i], include));
    step_loads_free(steps, count);
    request_answer(request, 200, encode_list(data, more));
    return ERR_OK;
}

enum err_code api_step_get(struct request *request, struct err *err)
{
    struct step_load step = {0};
    unsigned include = 0;
    char thread_id[ID_LIMIT + 1];
    enum err_code rc = read_ids(request, thread_id, err);

    if (rc)
        return rc;
    rc = param_id(request_param(request, "step"), "step", "step_id", err);
    if (!rc)
        rc = param_step_include(request, &include, err);
    if (rc)
        return rc;
    rc = store_step_get(request_server(request)->store, request_tenant(request), thread_id,
                        request_param(request, "run"), request_param(request, "step"), &step,
                        err);
    if (rc)
        return rc;
    request_answer(request, 200, encode_step(&step, include));
    item_rows_free(step.items, step.item_count);
    step_row_clear(&step.step);
    return ERR_OK;
}
