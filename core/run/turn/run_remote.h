#ifndef RUNNEL_CORE_RUN_TURN_RUN_REMOTE_H
#define RUNNEL_CORE_RUN_TURN_RUN_REMOTE_H

#include <jansson.h>
#include <stddef.h>

/*
 * run_remote.h -- the remote MCP servers of a run, as the rest of its life sees them: opened when its tools
 * are resolved, closed when the residency ends. Lists and calls are in core/run/calls/run_servers.h, and
 * the same .c file implements both headers. On the run's loop.
 */

struct run;
struct run_server;
struct server_call;

/* Changed by core/run/calls/run_servers.c only. */
struct run_remote {
    struct run_server *servers; /* one for each remote entry of the request's tools */
    size_t count;
    struct server_call *open_calls;
    void (*after_listing)(struct run *run); /* called when all lists have come */
    /* Of the tools, by their places in the request. Never stored. NULL: no secrets are known. */
    json_t *secrets;
};

/* After the tools are resolved. Takes in the lists that the conversation has already; connects to no
 * server. */
void run_open_servers(struct run *run);

/* Ends all sessions, and drops calls and lists that are under way. Lists that have come stay. May be
 * called more than once. */
void run_close_servers(struct run *run);

/* Closes them, and frees everything. */
void run_free_servers(struct run *run);

#endif
