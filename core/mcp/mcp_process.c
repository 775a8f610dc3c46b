/*
 * mcp_process.c -- the processes of MCP servers, on a loop of their own, and the links to them.
 *
 * All links of a process are on other loops. A message travels as a task: text to the process, JSON back. A link is
 * counted by both sides and by each message under way, so neither side waits for the other to let it go.
 *
 * A process is started for a link and not again for the same one: what a link has asked for may have been executed, so
 * its session must learn of the end.
 */

#include "core/mcp/mcp_process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_message.h"
