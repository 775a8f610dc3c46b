#ifndef RUNNEL_SERVER_WEB_WEB_WORKERS_H
#define RUNNEL_SERVER_WEB_WEB_WORKERS_H

#include <stdint.h>

#include "core/base/err.h"

struct server;

/*
 * web_workers.h -- the workers of tools that wait for servers of the web (TOOL_WAITS_FOR_WEB).
 *
 * A slow page holds its worker for half a minute, and who asks for it costs nothing meanwhile. So these workers are
 * many, other tools have none of them, and no project has all (tool_executor_share()).
 */

/* Sets server->web_executor. When the server starts, before the engine. */
enum err_code web_workers_start(struct server *server, struct err *err) MUST_CHECK;

/* When the engine has stopped. */
void web_workers_stop(struct server *server, uint64_t patience_ns);
void web_workers_free(struct server *server);

#endif
