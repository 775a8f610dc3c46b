#ifndef RUNNEL_SERVER_CONFIG_MCP_H
#define RUNNEL_SERVER_CONFIG_MCP_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/mcp/mcp_named.h"

/*
 * config/mcp.h -- the section `mcp_servers` of the configuration file: remote servers that the operator names,
 * for requests to refer to.
 *
 * Read at start, then constant: any thread.
 */

struct config_mcp {
    struct mcp_named *servers; /* they point into the list and the environment */
    size_t count;
    char **pairs;       /* "host:port" of internal servers; NULL for the others */
    const char **opens; /* the same, each as the list of a struct egress_rules */
};

/* `list` is the section, or NULL. It must outlive *ret_mcp, and is changed: texts of switches become booleans.
 * ERR_INVALID with one sentence. The caller clears, also after an error. */
enum err_code config_mcp_read(json_t *list, const struct egress_rules *egress,
                              struct config_mcp *ret_mcp, struct err *err) MUST_CHECK;
void config_mcp_clear(struct config_mcp *mcp);

#endif
