#ifndef RUNNEL_SERVER_WEB_WEB_DESK_H
#define RUNNEL_SERVER_WEB_WEB_DESK_H

#include "core/tool/executor.h"

struct server;

/* web_desk.h -- how tools reach the web: from the JSON of a tool to core/web. */

/* Makes server->web_searcher, if the configuration has a provider, and then lets the registry offer the tools that
 * search. At start, before tools run. */
void web_desk_open(struct server *server);

/* For the engine. `server` outlives it. */
struct tool_web web_desk(struct server *server);

#endif
