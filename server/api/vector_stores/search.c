/*
 * A search asked for over HTTP.
 *
 * It runs on a search worker, because it may read segments from the database for seconds. The request is suspended
 * meanwhile:
 *
 *   HTTP worker     reads the parameters, takes the body, suspends the request
 *   search worker   searches
 *   loop            gives the request back
 *   HTTP worker     answers
 *
 * The client may leave meanwhile. So what the request and the search share has two holders, and the last one releases
 * it.
 */

#include "core/ingest/search.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/filter.h"
#include "core/event/sink.h"
#include "core/net/loop.h"
#include "core/run/engine/engine.h"
#include "server/api/api.h"
#include "server/encode/encode_vector_store.h"
#include "server/params/filter_params.h"
#include "server/params/vector_store_params.h"
#include "server/query_rewriter.h"
#include "server/server.h"
#include "server/workers.h"

#define SEARCHES_LIMIT \
    ((size_t)256) /* of a project that wait for a worker; one more is refused */

struct searching {
    struct work work;
    struct loop_task task;
    atomic_uint holders;
    struct server *server;
    struct loop *loop;
    struct sink *request;
    struct tenant tenant;
    json_t *body; /* the query borrows from it */
    char *store_id;
    const char *stores[1];
    const char *queries[SEARCH_QUERIES_LIMIT];
    char *rewritten[SEARCH_QUERIES_LIMIT]; /* what is searched instead; NULL: as it is */
    bool rewrite;
    struct search_query query;
    struct filter *filter;
    struct search_result result;
    enum err_code rc;
    struct err err;
};

static void let_go(void *arg)
{
    struct searching *searching = arg;

    if (atomic_fetch_sub(&searching->holders, 1) > 1)
        return;
    search_result_clear(&searching->result);
    for (size_t i = 0; i < SEARCH_QUERIES_LIMIT; i++)
        free(searching->rewritten[i]);
    filter_free(searching->filter);
    json_decref(searching->body);
    free(searching->store_id);
    free(searching);
}

/* On an HTTP worker. */
static enum err_code answer_search(struct request *request, void *arg, struct err *err)
{
    struct searching *searching = arg;
    enum err_code rc = searching->rc;
    json_t *texts = json_array();

    if (rc)
        *err = searching->err;
    if (rc == ERR_TIMEOUT)
        request_fail_status(request, 503);
    for (size_t i = 0; i < searching->query.query_count; i++)
        json_array_append_new(texts, json_string(searching->queries[i]));
    if (rc)
        json_decref(texts);
    else
        request_answer(request, 200, encode_search_page(texts, &searching->result));
    let_go(searching);
    return rc;
}

/* On the loop. */
static void searched(struct loop_task *task)
{
    struct searching *searching = CONTAINER_OF(task, struct searching, task);
    struct sink *request = searching->request;

    let_go(searching);
    request->ops->answer(request, &(struct sink_answer){.status = REQUEST_CONTINUE});
    request->ops->close(request);
}

/* Of the two holders the request has let go: its client has left. */
static bool is_left(void *arg)
{
    struct searching *searching = arg;

    return atomic_load(&searching->holders) < 2;
}

/* The page shows what was searched. */
static void rewrite(struct searching *searching)
{
    query_rewrite(searching->server->rewriter, searching->queries, searching->query.query_count,
                  searching->rewritten);
    for (size_t i = 0; i < searching->query.query_count; i++)
        if (searching->rewritten[i])
            searching->queries[i] = searching->rewritten[i];
}

/* On a search worker. */
static void do_search(struct work *work)
{
    struct searching *searching = CONTAINER_OF(work, struct searching, work);

    if (searching->rewrite && searching->server->rewriter)
        rewrite(searching);
    searching->rc = retrieval_search(searching->server->retrieval, &searching->tenant,
                                     &searching->query, &searching->result, &searching->err);
    loop_post(searching->loop, &searching->task);
}

static enum err_code read_query(struct request *request, struct searching *searching,
                                struct err *err)
{
    searching->body = request_take_json(request);
    searching->store_id = mem_strdup(request_param(request, "store"));
    searching->stores[0] = searching->store_id;
    searching->query.stores = searching->stores;
    searching->query.store_count = 1;
    searching->query.unwanted = is_left;
    searching->query.unwanted_arg = searching;
    return search_read_body(searching->body, searching->queries, &searching->query,
                            &searching->filter, &searching->rewrite, err);
}

static void put(struct searching *searching)
{
    size_t limit = FAULT("search.full") ? 0 : SEARCHES_LIMIT;

    if (workers_offer(searching->server->searchers, &searching->work, limit))
        return;
    searching->rc = err_refuse(&searching->err, ERR_LIMIT, REASON_BUSY, NULL,
                               "Too many searches are waiting. Please retry your request.");
    loop_post(searching->loop, &searching->task);
}

enum err_code api_vector_store_search(struct request *request, struct err *err)
{
    struct server *server = request_server(request);
    struct searching *searching = mem_zeroed(1, sizeof(*searching));
    enum err_code rc = read_query(request, searching, err);

    searching->work.run = do_search;
    searching->task.run = searched;
    searching->server = server;
    searching->loop = engine_any_loop(server->engine);
    searching->tenant = tenant_kept(request_tenant(request));
    searching->tenant.user = "";
    searching->work.tenant = searching->tenant;
    if (rc) {
        atomic_store(&searching->holders, 1);
        let_go(searching);
        return rc;
    }
    atomic_store(&searching->holders, 2);
    searching->request = request_wait_then(
        request, searching->loop,
        &(struct request_later){.resume = answer_search, .drop = let_go, .arg = searching});
    put(searching);
    return ERR_OK;
}
