#ifndef RUNNEL_CORE_MCP_MCP_PROCESS_H
#define RUNNEL_CORE_MCP_MCP_PROCESS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/mcp/mcp_exchange.h"
#include "core/mcp/mcp_named.h"
#include "core/net/loop.h"

/*
 * mcp_process.h -- MCP servers that are processes of the operator, and speak through their pipes (stdio).
 *
 *   session ── link ──┐                      ┌─ stdin
 *   session ── link ──┼─▶ process, on a loop ┼─ stdout, a message on a line
 *   session ── link ──┘                      └─ stderr, for the log
 *
 * A server has one process for each project, which is started at its first use and ends when nobody has used it for a
 * while. Sessions of several runs, on several loops, share it: each has a link. The process sees one client, which
 * initializes it once; a link's own initialize is answered with what the process said then. Ids of requests and
 * progress tokens are the process's own, so two links cannot have the same.
 *
 * The process is a stranger. What it sends without being asked has a limit, a line has a limit, and so has what it does
 * not read. One that breaks them is ended. A process that has ended is started again with the next link, at most
 * MCP_PROCESS_STARTS times in MCP_PROCESS_STARTS_NS.
 *
 * How a process is started and confined is not known here: see `start`.
 */
