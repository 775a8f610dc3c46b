#ifndef RUNNEL_SERVER_SANDBOX_SANDBOX_ROOTS_H
#define RUNNEL_SERVER_SANDBOX_SANDBOX_ROOTS_H

#include "core/base/err.h"
#include "server/config/config.h"

/*
 * sandbox_roots.h -- the folders that the operator opens to tools (operator_roots.h), as the section `sandbox.roots`
 * names them.
 */

struct sandbox_roots;
struct workspaces;

/* Opens all of them, and lets tools find them. At start, before the first request. ERR_INVALID: one is no folder that
 * the server may read. */
enum err_code sandbox_roots_open(const struct config *config, struct workspaces *workspaces,
                                 struct sandbox_roots **ret_roots, struct err *err) MUST_CHECK;

/* When no call runs any more. NULL is fine. */
void sandbox_roots_close(struct sandbox_roots *roots);

#endif
