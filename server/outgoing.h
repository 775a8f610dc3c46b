#ifndef RUNNEL_SERVER_OUTGOING_H
#define RUNNEL_SERVER_OUTGOING_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * outgoing.h -- requests to other servers that belong to no run: for embeddings, pages, pictures, searches.
 */

struct loop;
struct server;

/* Any thread. `any_loop` of http_ask.h; its argument is the struct server. The engine must be there. */
struct loop *outgoing_loop(void *server);

/* Any thread. The masks of the configuration (struct masks), over texts that reach models in other ways than a run's
 * messages. */
enum err_code outgoing_mask(void *masks, json_t *messages, struct err *err) MUST_CHECK;

/* Sets server->embeddings and server->vector_model, if the configuration names a model. At the start; nothing is asked
 * of the model before there are loops. */
enum err_code outgoing_open_embeddings(struct server *server, struct err *err) MUST_CHECK;

/* Sets server->reranker and server->rewriter, each if the configuration names its model. At the start, before the first
 * search. */
void outgoing_open_models(struct server *server);

#endif
