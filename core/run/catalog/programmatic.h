#ifndef RUNNEL_CORE_RUN_CATALOG_PROGRAMMATIC_H
#define RUNNEL_CORE_RUN_CATALOG_PROGRAMMATIC_H

#include <jansson.h>
#include <stdbool.h>

#include "core/run/catalog/tool_set.h"

/*
 * programmatic.h -- `allowed_callers` of a tool: whether the model may call it, its programs, or both.
 *
 * A program is code of the model that calls tools (core/domain/program.h). Without allowed_callers a tool is the
 * model's alone. One that is for programs alone is not offered as a function. The description of the tool that runs
 * programs lists all that are for programs.
 *
 * Pure functions: any thread.
 */

/* The model may call it. */
bool tool_use_is_direct(const struct tool_use *use);
/* Programs may call it. */
bool tool_use_is_programmatic(const struct tool_use *use);

/* The tool that runs programs; NULL: the set has none. */
const struct tool_use *tool_set_find_program(const struct tool_set *set);

/* The tool of this name that programs may call under a checked tool_choice (NULL: auto); or NULL. A tool that the
 * model may call, too, must be among the `allowed_tools`. */
const struct tool_use *tool_set_find_programmatic(const struct tool_set *set,
                                                  const json_t *choice, const char *name);

/* What programs may call: [[name, whether it takes a text]]. New reference. */
json_t *tool_set_programmatic(const struct tool_set *set, const json_t *choice);

/* The same for the model: names, descriptions and schemas; "" without any. The caller frees. */
char *tool_set_programmatic_text(const struct tool_set *set, const json_t *choice);

#endif
