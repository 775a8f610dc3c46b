#ifndef RUNNEL_SERVER_CONFIG_MCP_H
#define RUNNEL_SERVER_CONFIG_MCP_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/mcp/mcp_named.h"

/*
 * config/mcp.h -- the section `mcp_servers` of the configuration file: servers that the operator
 * names for requests.
 */

struct config_mcp {
    struct mcp_named *servers; /* point into the list and the environment */
    size_t count;
    char **pairs;       /* "host:port" of those that may be within; NULL for others */
    const char **opens; /* the same as lists of one */
};

/* `list` is the section, or NULL; it is changed: words become switches. ERR_INVALID with one
 * sentence. The caller clears, also after an error. */
enum err_code config_mcp_read(json_t *list, const struct egress_rules *egress,
                              struct config_mcp *ret_mcp, struct err *err) MUST_CHECK;
void config_mcp_clear(struct config_mcp *mcp);

#endif
