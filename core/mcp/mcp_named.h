#ifndef RUNNEL_CORE_MCP_MCP_NAMED_H
#define RUNNEL_CORE_MCP_MCP_NAMED_H

#include <jansson.h>
#include <stddef.h>

#include "core/net/egress.h"

/*
 * mcp_named.h -- MCP servers that the operator has named: requests use them by that name, and see
 * neither where they are nor what they are told.
 *
 * Set once, before the first request, and never changed: then any thread may look.
 */

struct mcp_named {
    const char *name;
    const char *url;                /* NULL: it is none of the web, and cannot be used yet */
    const char *authorization;      /* a token, or NULL */
    const json_t *headers;          /* names and values, or NULL */
    const json_t *allowed_tools;    /* a request allows no others; or NULL */
    const json_t *require_approval; /* a request only tightens it; NULL: it says */
    bool resources, prompts;        /* a request may wish for them */
    const char *description;        /* for the model, or NULL */
    struct egress_rules egress;     /* where it may be */
};

/* Borrowed for good. */
void mcp_named_set(const struct mcp_named *servers, size_t count);

/* NULL when there is none. */
const struct mcp_named *mcp_named_find(const char *name);

#endif
