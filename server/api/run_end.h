#ifndef RUNNEL_SERVER_API_RUN_END_H
#define RUNNEL_SERVER_API_RUN_END_H

#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * run_end.h -- a request that is answered when a run has ended, on any node.
 *
 * Waiting keeps no run alive: a response whose client leaves ends all the same.
 */

/* Suspends the request. `then` is called on a worker, like an endpoint, with the run as it is when it
 * has ended. When the server stops it is called earlier, with the run still going. It answers in any
 * way except by waiting again. If the run was deleted, the client gets 404, and `then` is not called.
 * Nor is it called if the client leaves. `run` is borrowed for the call. */
void run_end_await(struct request *request, const struct run_row *run,
                   enum err_code (*then)(struct request *request, struct run_row *run,
                                         struct err *err));

/* Suspends the request until the run has ended in any way, but for `patience_ns` at most. `later` is that of
 * request_wait_then(). */
void run_end_await_shortly(struct request *request, const struct run_row *run,
                           uint64_t patience_ns, const struct request_later *later);

#endif
