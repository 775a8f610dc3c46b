#ifndef RUNNEL_SERVER_SANDBOX_CONTAINER_CHECK_H
#define RUNNEL_SERVER_SANDBOX_CONTAINER_CHECK_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"

struct server;

/*
 * container_check.h -- whether the containers that a request's `tools` name can be used.
 */

/* The container that an entry names runs, its files exist, and the operator allows the memory. Blocks on the store. */
enum err_code container_check_tools(const struct server *server, const struct tenant *tenant,
                                    const json_t *tools, struct err *err) MUST_CHECK;

#endif
