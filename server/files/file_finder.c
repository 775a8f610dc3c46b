/*
 * file_finder.c -- between the JSON of a tool and a search.
 *
 * Handlers see only core/tool, and a search is far above it. So the tool says what it wants as a request of the API
 * would, and gets JSON back: both are stored with the call anyway.
 *
 * A request that names a store that is missing is refused before anything is made of it. Later a store may go. Then a
 * search takes what there is, and fails only if nothing is left: the model reads that, and the conversation continues.
 */

#include "server/files/file_finder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/ingest/search.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/complaint.h"
#include "server/params/filter_params.h"
#include "server/params/params.h"
#include "server/params/vector_store_params.h"
#include "server/server.h"

/* ---- One search ---- */

static json_t *hit_object(const struct search_hit *hit)
{
    json_t *more =
        json_build("{s:s, s:I}", "heading", hit->heading, "chunk", (json_int_t)hit->chunk);

    if (hit->page)
        json_set_int(more, "page", (json_int_t)hit->page);
    return json_build("{s:s, s:s, s:f, s:s, s:o, s:o}", "file_id", hit->file_id, "filename",
                      hit->filename, "score", hit->score, "text", hit->text, "attributes",
                      json_parse_own(hit->attributes), "runnel", more);
}

/* The texts of an array, at most `limit`; returns how many. */
static size_t texts_of(const json_t *list, const char **texts, size_t limit)
{
    size_t count = 0;
    size_t i;
    json_t *text;

    json_array_foreach (list, i, text) {
        if (json_is_string(text) && count < limit)
            texts[count++] = json_string_value(text);
    }
    return count;
}

static bool is_refusal(enum err_code rc, const struct err *err)
{
    return rc == ERR_NOT_FOUND || (rc == ERR_INVALID && err->reason == REASON_STORE_EXPIRED);
}

/* Leaves out the stores that are gone or have expired. The last problem is in *err if none is left. */
static enum err_code keep_living(const struct server *server, const struct tenant *tenant,
                                 const char **stores, size_t *count, struct err *err)
{
    while (*count) {
        size_t bad = 0;
        enum err_code rc =
            store_vector_stores_check(server->store, tenant, stores, *count, &bad, err);

        if (!is_refusal(rc, err))
            return rc;
        memmove(&stores[bad], &stores[bad + 1], (--*count - bad) * sizeof(*stores));
        if (!*count)
            return rc;
    }
    return ERR_OK;
}

static enum err_code search(const struct server *server, const struct tenant *tenant,
                            struct search_query *query, json_t **ret_found, struct err *err)
{
    struct search_result result = {0};
    json_t *found;
    enum err_code rc = retrieval_search(server->retrieval, tenant, query, &result, err);

    if (rc)
        return rc;
    found = json_array();
    for (size_t i = 0; i < result.count; i++)
        json_array_append_new(found, hit_object(&result.hits[i]));
    search_result_clear(&result);
    *ret_found = found;
    return ERR_OK;
}

/* The run was cancelled, or the call's time is over. */
static bool is_cancelled(void *call)
{
    return tool_call_cancelled(call);
}

static enum err_code find(void *arg, const struct tool_call *call, const struct tenant *tenant,
                          const json_t *wanted, json_t **ret_found, struct err *err)
{
    const struct server *server = arg;
    const char *stores[SEARCH_STORES_LIMIT];
    const char *queries[SEARCH_QUERIES_LIMIT];
    struct search_query query = {
        .stores = stores,
        .queries = queries,
        .limit = (size_t)json_get_int(wanted, "max_num_results", SEARCH_RESULTS_DEFAULT),
        .embedding_weight = 1,
        .text_weight = 1,
        .unwanted = is_cancelled,
        .unwanted_arg = (void *)(uintptr_t)call};
    struct filter *filter = NULL;
    enum err_code rc = ranking_options_read(wanted, "", &query, err);

    query.store_count =
        texts_of(json_object_get(wanted, "vector_store_ids"), stores, SEARCH_STORES_LIMIT);
    query.query_count =
        texts_of(json_object_get(wanted, "queries"), queries, SEARCH_QUERIES_LIMIT);
    if (!rc)
        rc = filter_params_read(wanted, "", "filters", &filter, err);
    if (!rc)
        rc = keep_living(server, tenant, stores, &query.store_count, err);
    query.filter = filter;
    if (!rc)
        rc = search(server, tenant, &query, ret_found, err);
    filter_free(filter);
    return rc;
}

struct tool_finder file_finder(struct server *server)
{
    return (struct tool_finder){.find = find,
                                .arg = server,
                                .passage_tokens = (size_t)server->config->file_search_tokens};
}

/* ---- The stores that a request names ---- */

static enum err_code refuse(struct err *err, const char *path, const char *id)
{
    if (err->reason == REASON_STORE_EXPIRED)
        return err_refuse(err, ERR_INVALID, REASON_STORE_EXPIRED, path,
                          "The vector store %.64s has expired.", id);
    return err_set_api(err, ERR_NOT_FOUND, NULL, path,
                       "Vector store with id '%.64s' not found.", id);
}

enum err_code file_finder_check_stores(const struct server *server, const struct tenant *tenant,
                                       const json_t *list, const char *path, struct err *err)
{
    const char *ids[SEARCH_STORES_LIMIT];
    size_t count = texts_of(list, ids, SEARCH_STORES_LIMIT);
    size_t bad = 0;
    enum err_code rc;

    if (!count)
        return ERR_OK;
    rc = store_vector_stores_check(server->store, tenant, ids, count, &bad, err);
    if (!is_refusal(rc, err))
        return rc;
    return refuse(err, param_index(path, bad).text, ids[bad]);
}

enum err_code file_finder_lives(const struct server *server, const struct tenant *tenant,
                                const char *id, bool *ret_lives, struct err *err)
{
    struct err why = {0};
    enum err_code rc = store_vector_stores_check(server->store, tenant, &id, 1, NULL, &why);

    if (rc && !is_refusal(rc, &why)) {
        *err = why;
        return rc;
    }
    *ret_lives = !rc;
    return ERR_OK;
}

enum err_code file_finder_expired(const struct server *server, const struct tenant *tenant,
                                  const json_t *list, const char **ret_id, struct err *err)
{
    const char *ids[SEARCH_STORES_LIMIT];
    size_t count = texts_of(list, ids, SEARCH_STORES_LIMIT);
    struct err why = {0};

    for (size_t i = 0; i < count; i++) {
        enum err_code rc =
            store_vector_stores_check(server->store, tenant, &ids[i], 1, NULL, &why);

        if (rc && !is_refusal(rc, &why)) {
            *err = why;
            return rc;
        }
        if (rc == ERR_INVALID) {
            *ret_id = ids[i];
            return ERR_OK;
        }
    }
    *ret_id = NULL;
    return ERR_OK;
}

enum err_code file_finder_check(const struct server *server, const struct tenant *tenant,
                                const json_t *tools, struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach (tools, i, entry) {
        struct param_path at = param_index("tools", i);
        enum err_code rc =
            file_finder_check_stores(server, tenant, json_object_get(entry, "vector_store_ids"),
                                     param_key(at.text, "vector_store_ids").text, err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}
