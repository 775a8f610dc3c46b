#ifndef RUNNEL_SERVER_API_RUN_END_H
#define RUNNEL_SERVER_API_RUN_END_H

#include "core/domain/rows.h"
#include "server/http/request.h"

/*
 * run_end.h -- a request that is answered when a run has ended, on whatever node.
 */

/* `then` is called on a worker, like an endpoint, once the run is over or was deleted; or while it is not,
 * when the server stops. It answers in any way but by waiting again. */
void run_end_await(struct request *request, const struct run_row *run,
                   enum err_code (*then)(struct request *request, void *arg, struct err *err));

#endif
