#ifndef RUNNEL_SERVER_SERVER_H
#define RUNNEL_SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/ids.h"
#include "core/base/seal.h"
#include "server/config/config.h"

/*
 * server.h -- what one running server consists of; made by serve.c, lent to endpoints.
 *
 * Everything here is set before the first request and stays until the last has ended, but for
 * `draining`.
 */

struct engine;
struct http;
struct masking;
struct store;
struct tool_executor;
struct workers;
struct ws_budget;

struct server {
    const struct config *config;
    struct store *store;
    struct engine *engine;
    struct tool_executor *executor;
    struct masking *masking; /* sees what goes to models; or NULL */
    struct http *http;
    struct workers *workers;       /* for what comes over WebSockets */
    struct seal seal;              /* the same on all servers of the database */
    char default_project[ID_SIZE]; /* whose key is the setting api_key; also that of no_auth */
    struct ws_budget *past_responses; /* for what all WebSockets remember */
    atomic_bool draining;
};

#endif
