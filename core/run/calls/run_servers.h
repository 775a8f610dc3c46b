#ifndef RUNNEL_CORE_RUN_CALLS_RUN_SERVERS_H
#define RUNNEL_CORE_RUN_CALLS_RUN_SERVERS_H

#include "core/run/turn/run.h"

/*
 * run_servers.h -- the remote MCP servers of a run: lists their tools before the first turn of
 * the model, and executes calls of these tools.
 *
 * A server is listed once in a conversation. Later requests find the list there, unless the
 * server has reported during a call that it has changed. That counts for the next run: the
 * current one keeps its tools. The run has its own session with each server. It is opened when
 * it is needed and closed at the end of the residency.
 *
 * All functions are called on the run's loop.
 */

/* A key of `runnel` in the item of a call: the server has reported that its list has
 * changed, so the next run lists it again. */
#define RUN_LIST_CHANGED "list_changed"

struct run_server;
struct server_call;

/* Lists the other servers, all at the same time, and shows the lists in the order of the
 * request. Then calls `then`: at once if no list is missing. In a thread's run a server that
 * does not list its tools fails the run; in a response its item has the error, and the run
 * continues without its tools. */
void run_list_servers(struct run *run, void (*then)(struct run *run));

/* Executes a call of a remote tool. Progress and result come through the channel of the
 * turn. `args` are borrowed. */
void run_call_server(struct run *run, struct call *call, const json_t *args);

/* Cancels the calls that are under way, and notifies their servers. */
void run_stop_server_calls(struct run *run);

#endif
