#ifndef RUNNEL_CORE_RUN_CALLS_RUN_SERVERS_H
#define RUNNEL_CORE_RUN_CALLS_RUN_SERVERS_H

#include "core/run/turn/run.h"

/*
 * run_servers.h -- the remote MCP servers of a run: their tools are listed before the model is
 * asked, and its calls of them are executed there. Everything on the run's loop.
 *
 * A list is asked for once in a conversation: later requests find it there, unless the server has said
 * during a call that it has changed. The run goes on with what it was told. A server is talked to
 * through a session of the run's own, opened when it is needed and closed with the run's stay.
 */

/* In `runnel` of a call: its server has said so, and is asked for its list by whoever comes next. */
#define RUN_LIST_CHANGED "list_changed"

struct run_server;
struct server_call;

/* After the tools are resolved: takes in what the conversation has listed already. */
void run_open_servers(struct run *run);

/* Lists the others, all at once, shows the lists in the order of the request, and goes on with
 * `then`; at once when there are none. */
void run_list_servers(struct run *run, void (*then)(struct run *run));

/* Executes a call of a remote tool. Its result comes through the channel. */
void run_call_server(struct run *run, struct call *call, const json_t *args);

/* Nobody waits for the calls that are under way. */
void run_stop_server_calls(struct run *run);

/* Nobody waits for anything: the sessions end. */
void run_close_servers(struct run *run);
void run_free_servers(struct run *run);

#endif
