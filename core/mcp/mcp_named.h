#ifndef RUNNEL_CORE_MCP_MCP_NAMED_H
#define RUNNEL_CORE_MCP_MCP_NAMED_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/net/egress.h"

#define MCP_FOLDER "/mnt/server"

/*
 * mcp_named.h -- MCP servers that the operator has configured by name: requests use the name, and see
 * neither the URL nor the headers.
 *
 * Set once, before the first request, and never changed: any thread may read.
 */

struct mcp_named {
    const char *name;
    const char *url;             /* "stdio:NAME" of a process */
    const char *authorization;   /* a token, or NULL */
    const json_t *headers;       /* names and values, or NULL */
    const json_t *allowed_tools; /* a request cannot allow others; NULL: no limit */
    /* A request can only tighten it; NULL: the request decides */
    const json_t *require_approval;
    bool resources, prompts;    /* a request may turn them on */
    const char *description;    /* for the model, or NULL */
    struct egress_rules egress; /* which addresses its URL may lead to */
    /* A process (mcp_process.h): its arguments, a list of texts; or NULL. The others are for processes only. */
    const json_t *command;
    const json_t *environment; /* names and texts, or NULL */
    const json_t *network; /* domains that it may reach (core/net/proxy/domain.h), or NULL */
    const char *folder;    /* of the host, which it sees at MCP_FOLDER, read-only; or NULL */
    uint64_t memory;       /* bytes */
};

/* Sets all servers. Borrowed for the life of the process. */
void mcp_named_set(const struct mcp_named *servers, size_t count);

/* Why servers that are processes cannot run here: the end of a sentence, a constant. NULL: they can. Set once, before
 * the first request. */
void mcp_named_lack(const char *why);
const char *mcp_named_obstacle(void);

/* NULL when no server has that name. */
const struct mcp_named *mcp_named_find(const char *name);

#endif
