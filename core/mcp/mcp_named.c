/*
 * mcp_named.c -- the list of configured servers, searched by name.
 *
 * The configuration owns the list for the life of the process. Changing it takes a restart, so no request
 * sees a server change under it, and readers need no lock.
 */

#include "core/mcp/mcp_named.h"

#include <string.h>

static const struct mcp_named *named;
static size_t named_count;

void mcp_named_set(const struct mcp_named *servers, size_t count)
{
    named = servers;
    named_count = count;
}

static const char *obstacle;

void mcp_named_lack(const char *why)
{
    obstacle = why;
}

const char *mcp_named_obstacle(void)
{
    return obstacle;
}

const struct mcp_named *mcp_named_find(const char *name)
{
    for (size_t i = 0; i < named_count; i++) {
        if (strcmp(named[i].name, name) == 0)
            return &named[i];
    }
    return NULL;
}
