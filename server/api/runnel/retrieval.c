#include "core/base/json.h"
#include "core/document/document.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/rerank.h"
#include "core/ingest/search.h"
#include "core/ingest/vector_model.h"
#include "core/retrieval/chunker.h"
#include "core/store/tables/vector_stores/document_counts.h"
#include "core/store/tables/vector_stores/pgvector.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/api/api.h"
#include "server/params/vector_store_params.h"
#include "server/scan_model.h"
#include "server/server.h"

/*
 * GET /v1/runnel/retrieval: what searches of this server can do, and what the project has. An extension.
 *
 * A client sees here whether a search matches words alone or meanings, too, and which files can be read. Only the
 * counts are the project's; all else is the same for all projects.
 */

static json_t *reranker_object(const struct reranker *reranker)
{
    const struct rerank_options *options = reranker ? reranker_options(reranker) : NULL;
    json_t *object;

    if (!options)
        return json_null();
    object = json_build("{s:n}", "model");
    if (options->model)
        json_set_string(object, "model", options->model);
    return object;
}

/* Dimensions are known when a document was embedded. */
static enum err_code add_embeddings(const struct server *server, json_t *object,
                                    struct err *err)
{
    const struct vector_space *space = NULL;
    json_t *embeddings;
    enum err_code rc;

    if (!server->embeddings)
        return ERR_OK;
    rc = vector_model_known(server->vector_model, 0, &space, err);
    if (rc)
        return rc;
    embeddings = json_build("{s:s, s:n}", "model",
                            embeddings_options(server->embeddings)->model, "dimensions");
    if (space)
        json_set_int(embeddings, "dimensions", space->dimensions);
    json_set(object, "embeddings", embeddings);
    json_set_string(object, "mode", search_mode_name(SEARCH_HYBRID));
    return ERR_OK;
}

static json_t *readers_list(const struct server *server)
{
    struct document_reader readers[DOCUMENT_READERS];
    struct document_scans scans;
    bool reads = scan_model_scans(server, &scans);
    size_t count = document_readers(reads ? &scans : NULL, readers);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *reader = json_build("{s:s, s:b, s:n}", "type", readers[i].type, "available",
                                    (int)readers[i].is_there, "package");

        if (*readers[i].package)
            json_set_string(reader, "package", readers[i].package);
        json_array_append_new(list, reader);
    }
    return list;
}

static json_t *limits_object(const struct config *config)
{
    const struct {
        const char *name;
        double value;
    } limits[] = {
        {"file_bytes", (double)config->max_file},
        {"project_bytes", (double)config->max_project_bytes}, /* 0: no limit */
        {"files_of_a_store", VECTOR_STORE_FILES_LIMIT},
        {"chunks_of_a_file", (double)CHUNKS_MAX},
        {"text_bytes_of_a_file", (double)DOCUMENT_TEXT_MAX},
        {"stores_of_a_search", (double)SEARCH_STORES_LIMIT},
        {"chunks_of_a_search", (double)SEARCH_CHUNKS_LIMIT},
        {"queries_of_a_search", (double)SEARCH_QUERIES_LIMIT},
        {"results_of_a_search", (double)SEARCH_HITS_LIMIT},
        {"tokens_of_a_query", (double)SEARCH_QUERY_TOKENS_LIMIT},
    };
    json_t *object = json_build("{s:f}", "search_seconds", config->search_timeout);

    for (size_t i = 0; i < COUNT_OF(limits); i++)
        json_set_int(object, limits[i].name, (json_int_t)limits[i].value);
    return object;
}

static json_t *counts_object(const struct document_counts *counts)
{
    return json_build("{s:I, s:{s:I, s:I, s:I, s:I}, s:I, s:I}", "vector_stores",
                      (json_int_t)counts->vector_stores, "documents", "queued",
                      (json_int_t)counts->queued, "parsing", (json_int_t)counts->parsing,
                      "ready", (json_int_t)counts->ready, "failed", (json_int_t)counts->failed,
                      "chunks", (json_int_t)counts->chunks, "usage_bytes",
                      (json_int_t)counts->usage_bytes);
}

enum err_code api_retrieval_get(struct request *request, struct err *err)
{
    const struct server *server = request_server(request);
    struct document_counts counts;
    const char *engine;
    json_t *object;
    enum err_code rc =
        store_document_counts(server->store, request_tenant(request), &counts, err);

    if (rc)
        return rc;
    engine = store_pgvector_is_used(server->store) ? "pgvector" : "builtin";
    object = json_build(
        "{s:s, s:s, s:s, s:n, s:o, s:o, s:o, s:o}", "object", "runnel.retrieval", "engine",
        engine, "mode", search_mode_name(SEARCH_LEXICAL), "embeddings", "reranker",
        reranker_object(server->reranker), "readers", readers_list(server), "limits",
        limits_object(server->config), "counts", counts_object(&counts));
    rc = add_embeddings(server, object, err);
    if (rc)
        json_decref(object);
    else
        request_answer(request, 200, object);
    return rc;
}
