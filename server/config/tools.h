#ifndef RUNNEL_SERVER_CONFIG_TOOLS_H
#define RUNNEL_SERVER_CONFIG_TOOLS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * config/tools.h -- the section `tools` of the configuration file: which of this server's tools exist, and which
 * need an approval.
 *
 *   groups       {"basic": true, "vars": {"enabled": true, "tools": {"RemoveVars": false}}}
 *   permissions  {"basic/text": {"execution": "ask-always"}, "vars": {"autoExecute": false}}
 *   taint        false: what the model has read from strangers changes no policy (core/run/approval/run_taint.h)
 *
 * A group that is on is offered to every request that does not turn it off. A group or a tool that is off does
 * not exist for requests, and none can turn it on. A group without `enabled` is offered to requests that turn
 * it on.
 *
 * core/domain/permission.h explains permissions.
 */

/* Checks the section, and makes booleans of the texts of switches in it. `tools` may be NULL. ERR_INVALID, with
 * the path, for an unknown group, tool, key or value. */
enum err_code config_tools_check(json_t *tools, struct err *err) MUST_CHECK;

/* Changes the registry as the checked section says. Only at start, before there are other threads. */
void config_tools_apply(const json_t *tools);

/* The section switches taint off. */
bool config_tools_ignore_taint(const json_t *tools);

#endif
