#ifndef RUNNEL_CORE_RUN_TURN_RUN_REMOTE_H
#define RUNNEL_CORE_RUN_TURN_RUN_REMOTE_H

#include <jansson.h>
#include <stddef.h>

/*
 * run_remote.h -- the remote MCP servers of a run, as far as its life is concerned: opened when the tools
 * are resolved, closed with the residency. The rest is in core/run/calls/run_servers.h, and everything is
 * implemented in core/run/calls/run_servers.c. On the run's loop.
 */

struct run;
struct run_server;
struct server_call;

struct run_remote {
    struct run_server *servers;
    size_t count;
    struct server_call *open_calls;
    void (*after_listing)(struct run *run); /* called when all lists have come */
    /* Of the tools, by their places in the request. Never stored. NULL: no secrets are known. */
    json_t *secrets;
};

/* Begins with the servers of the resolved tools, and adds the tools that the conversation has
 * listed. */
void run_open_servers(struct run *run);

/* Cancels everything and closes the sessions. The lists stay. */
void run_close_servers(struct run *run);

void run_free_servers(struct run *run);

#endif
