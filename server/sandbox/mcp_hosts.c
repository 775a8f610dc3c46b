/*
 * mcp_hosts.c -- starts processes of MCP servers in boxes, and ends them, on workers: both take their time.
 */

#include "server/sandbox/mcp_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/boxes.h"
#include "core/mcp/mcp_process.h"
#include "core/sandbox/box.h"
#include "server/config/config.h"
#include "server/sandbox/sandboxes.h"
#include "server/server.h"
#include "server/workers.h"

#define WORKERS       2
#define STRINGS_LIMIT 400 /* arguments, and lines of the environment, of a process */
#define DOMAINS_LIMIT 100
#define CANNOT_START  "could not be started"
