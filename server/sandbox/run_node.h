#ifndef RUNNEL_SERVER_SANDBOX_RUN_NODE_H
#define RUNNEL_SERVER_SANDBOX_RUN_NODE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/ids.h"
#include "core/domain/rows.h"
#include "core/domain/run_settings.h"
#include "core/domain/tenant.h"

/*
 * run_node.h -- the node on which a run has its container.
 *
 * Files and variables of a container are on the disk and in the memory of one node. A run whose tools use it is made
 * for that node (run_creation.wanted_node), and the client follows it from here through the log. So a client may talk
 * to any node, and finds its variables.
 *
 * A run that is not stored has no log, and what is never stored cannot follow a run: secrets in `tools`, and the
 * request's context. Such runs stay here, and the files of the container come to them (containers.h).
 */

struct server;

struct run_node {
    const struct tenant *tenant;
    const struct run_row *run;
    const struct run_settings *settings;
    const json_t *body;           /* of the request that makes it */
    const struct item_row *items; /* of its context, if that was read */
    size_t item_count;
};

/* "": this node. Blocks on the store, where there are other nodes. */
enum err_code run_node_wanted(struct server *server, const struct run_node *wanted,
                              char ret_node[ID_SIZE], struct err *err) MUST_CHECK;

#endif
