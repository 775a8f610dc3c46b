#ifndef RUNNEL_SERVER_CONFIG_TOOLS_H
#define RUNNEL_SERVER_CONFIG_TOOLS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * config/tools.h -- the section `tools` of the configuration: what the operator says of the tools of
 * this server.
 *
 *   groups       {"basic": true, "vars": {"enabled": true, "tools": {"RemoveVars": false}}}
 *   permissions  {"basic/text": {"execution": "ask-always"}, "vars": {"autoExecute": false}}
 *
 * A group that is on is offered to every request that does not turn it off. What is off, a group or
 * one of its tools, is not there: no request can turn it on. A group that is not named, or of which
 * only tools are, is off until a request names it.
 *
 * What permissions mean stands in core/domain/permission.h.
 */

/* Values of a file are words: switches become true and false in the tree. ERR_INVALID, with the path,
 * for a group, tool, key or word that there is not. `tools` may be NULL. */
enum err_code config_tools_check(json_t *tools, struct err *err) MUST_CHECK;

/* Makes the registry as a checked section says. At start, before there are other threads. */
void config_tools_apply(const json_t *tools);

#endif
