#ifndef RUNNEL_SERVER_SCRIPTS_SCRIPT_PARSE_H
#define RUNNEL_SERVER_SCRIPTS_SCRIPT_PARSE_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * script_parse.h -- what tools a module offers, read from its source by a program in a box (parse.py). The module is
 * not executed.
 */

struct server;

#define SCRIPT_SOURCE_LIMIT ((size_t)65536) /* bytes */

/* *ret_definition, a new reference:
 *
 *   {"rules", "functions": [{"name", "description", "parameters", "execution_policy", "result_policy", and if it says
 *   so "returns": {"type", "note"}}]}
 *
 * ERR_INVALID with param `source`: it is no such module; the text says the line. ERR_INVALID without: this server
 * executes nothing. ERR_LIMIT: no room for a box now. Blocks, up to some seconds. */
enum err_code script_source_parse(struct server *server, const char *source,
                                  json_t **ret_definition, struct err *err) MUST_CHECK;

#endif
