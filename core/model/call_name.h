#ifndef RUNNEL_CORE_MODEL_CALL_NAME_H
#define RUNNEL_CORE_MODEL_CALL_NAME_H

#include <stddef.h>

/*
 * call_name.h -- which part of what a model calls a tool is its name.
 *
 * Servers of gpt-oss leave marks of its chat template behind the name: `get_weather<|channel|>commentary`.
 * There is no tool of that name, and upstreams refuse it in the history. No tool's name has such a mark.
 */

/* The length of the name without what follows it. All of it when it begins with a mark. */
size_t call_name_length(const char *name);

#endif
