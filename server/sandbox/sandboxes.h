#ifndef RUNNEL_SERVER_SANDBOX_SANDBOXES_H
#define RUNNEL_SERVER_SANDBOX_SANDBOXES_H

#include <stdint.h>

#include "core/base/err.h"

struct config;
struct server;

/*
 * sandboxes.h -- what executes code on this node: the boxes of containers, and workers of its own.
 *
 * A command may take minutes. On the workers of other tools, a few of them would keep all other calls waiting.
 */

/* Bytes of the largest container that can ever run here: what the operator allows, and no more than all boxes together
 * may have. At least 1 GiB, the smallest that a request can name. Any thread. */
uint64_t sandboxes_largest(const struct config *config);

/* Sets server->boxes, server->proxies if the operator allows any domain, and server->code_executor, if server->sandbox
 * has found that this machine can confine. Else they stay NULL, and nothing is executed. Once, when the server starts,
 * after compute_start(). */
enum err_code sandboxes_start(struct server *server, struct err *err) MUST_CHECK;

/* Why no code is executed on this node: the end of a sentence. NULL: it is. */
const char *sandboxes_obstacle(const struct server *server);

/* Lets the tools that execute code be offered, or keeps why they cannot (core/tool/registry.h). Once, when containers
 * were opened, before the first request. */
void sandboxes_declare(const struct server *server);

/* No new calls; boxes without one end. All of these may be called without a start, too. */
void sandboxes_drain(struct server *server);

/* Ends what still runs in boxes: the drain is over. */
void sandboxes_cut(struct server *server);

/* Waits for the workers, at most so long, after the engine has stopped. */
void sandboxes_stop(struct server *server, uint64_t patience_ns);

/* After the engine was freed. */
void sandboxes_free(struct server *server);

#endif
