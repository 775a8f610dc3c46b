#include "server/outgoing.h"

#include "core/base/log.h"
#include "core/ingest/embeddings.h"
#include "core/ingest/rerank.h"
#include "core/ingest/vector_model.h"
#include "core/model/mask.h"
#include "core/run/engine/engine.h"
#include "server/config/config.h"
#include "server/query_rewriter.h"
#include "server/server.h"

struct loop *outgoing_loop(void *server)
{
    return engine_any_loop(((struct server *)server)->engine);
}

enum err_code outgoing_mask(void *masks, json_t *messages, struct err *err)
{
    return masks_apply(masks, messages, err);
}

enum err_code outgoing_open_embeddings(struct server *server, struct err *err)
{
    const struct config *config = server->config;
    const struct config_embeddings *wanted = &config->embeddings;

    if (!wanted->upstream) {
        log_info("no embeddings model is configured: vector stores are searched by words");
        return ERR_OK;
    }
    server->embeddings = embeddings_new(&(struct embeddings_options){
        .url = wanted->upstream->url,
        .api_key = wanted->upstream->api_key,
        .model = wanted->model,
        .dimensions = wanted->dimensions,
        .query_prefix = wanted->query_prefix,
        .document_prefix = wanted->document_prefix,
        .max_input_tokens = wanted->max_input_tokens,
        .mask = config->masks ? outgoing_mask : NULL,
        .mask_arg = config->masks,
        .any_loop = outgoing_loop,
        .loop_arg = server,
    });
    return vector_model_open(server->store, server->embeddings, &server->vector_model, err);
}

static void open_reranker(struct server *server)
{
    const struct config *config = server->config;

    server->reranker = reranker_new(&(struct rerank_options){
        .url = config->rerank.url,
        .api_key = config->rerank.api_key,
        .model = config->rerank.model,
        .dialect = config->rerank.dialect,
        .mask = config->masks ? outgoing_mask : NULL,
        .mask_arg = config->masks,
        .any_loop = outgoing_loop,
        .loop_arg = server,
    });
}

static void open_rewriter(struct server *server)
{
    const struct config *config = server->config;

    server->rewriter = query_rewriter_new(&(struct query_rewriter_options){
        .upstream = config->rewrite_upstream,
        .model = config->rewrite_model,
        .mask = config->masks ? outgoing_mask : NULL,
        .mask_arg = config->masks,
        .any_loop = outgoing_loop,
        .loop_arg = server,
    });
}

void outgoing_open_models(struct server *server)
{
    if (server->config->rerank.url)
        open_reranker(server);
    if (server->config->rewrite_upstream)
        open_rewriter(server);
}
