#ifndef RUNNEL_SERVER_API_RUN_END_H
#define RUNNEL_SERVER_API_RUN_END_H

#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * run_end.h -- a request that is answered when a run has ended, on any node.
 */

/* Suspends the request. `then` is called on a worker, like an endpoint, when the run has ended or
 * was deleted. When the server stops it is called earlier, with the run still going. It answers in
 * any way except by waiting again. `run` is borrowed for the call; `arg` is NULL. If the client
 * leaves, `then` is not called. */
void run_end_await(struct request *request, const struct run_row *run,
                   enum err_code (*then)(struct request *request, void *arg, struct err *err));

#endif
