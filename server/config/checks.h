#ifndef RUNNEL_SERVER_CONFIG_CHECKS_H
#define RUNNEL_SERVER_CONFIG_CHECKS_H

#include "core/base/err.h"
#include "server/config/config.h"

/*
 * config/checks.h -- what the values must be together, when all places were read.
 *
 * Used at start, on one thread.
 */

/* The first mistake, as ERR_INVALID with one sentence. Reads the section `tools` and makes the masks, too, because that
 * is how they are checked. */
enum err_code config_check(struct config *config, struct err *err) MUST_CHECK;
/* A key of a client or of a server; `name` says in the sentence whose. NULL is none. */
enum err_code config_check_key(const char *name, const char *key, struct err *err) MUST_CHECK;

#endif
