#ifndef RUNNEL_SERVER_SANDBOX_MCP_HOSTS_H
#define RUNNEL_SERVER_SANDBOX_MCP_HOSTS_H

#include "core/base/err.h"

struct server;

/*
 * mcp_hosts.h -- where the MCP servers of the operator run that are processes: a box for each server and project
 * (core/mcp/mcp_process.h).
 *
 * A process sees /usr like every box, its folder at MCP_FOLDER, where it begins, and /tmp, which is its HOME. It
 * reaches the domains of its entry. Its box counts among the others, with its memory.
 */

/* Sets server->mcp_processes and server->mcp_hosts, if there is such a server and boxes can be made; otherwise keeps
 * why not (core/mcp/mcp_named.h). After sandboxes_declare(). */
enum err_code mcp_hosts_start(struct server *server, struct err *err) MUST_CHECK;

/* Calls wait for memory: ends the process that is unused longest. For struct boxes_options. */
void mcp_hosts_want_room(struct server *server);

/* Ends all processes, and waits. After the engine has stopped, before sandboxes_free(). */
void mcp_hosts_stop(struct server *server);

#endif
