/*
 * POST /v1/runnel/vector_stores/{store}/reindex: the documents of a store are made anew as this server would make them
 * today, for `embeddings.reindex: manual`. An extension.
 *
 * It queues work and does not wait for it. The store is searched as before until each is ready.
 */

#include "core/store/tables/vector_stores/reindex.h"

#include "core/base/json.h"
#include "server/api/api.h"
#include "server/params/params.h"
#include "server/server.h"

enum err_code api_vector_store_reindex(struct request *request, struct err *err)
{
    static const char *const known[] = {NULL};
    const char *id = request_param(request, "store");
    size_t queued = 0;
    bool more = false;
    enum err_code rc = param_unknown_strict(request_json(request), "", known, err);

    if (!rc)
        rc = store_vector_store_reindex(request_server(request)->store, request_tenant(request),
                                        id, &queued, &more, err);
    if (!rc)
        request_answer(request, 200,
                       json_build("{s:s, s:s, s:I, s:b}", "object", "vector_store.reindexing",
                                  "vector_store_id", id, "queued", (json_int_t)queued,
                                  "has_more", (int)more));
    return rc;
}
