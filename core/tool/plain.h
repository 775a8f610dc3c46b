#ifndef RUNNEL_CORE_TOOL_PLAIN_H
#define RUNNEL_CORE_TOOL_PLAIN_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/tool/tool.h"

/*
 * plain.h -- tools that are a function of their arguments and nothing else.
 *
 * The older form of a tool: a list of parameters and a function. It knows neither its call nor its
 * run, shows nothing while it works, and cannot be told to stop, so it must be quick. The registry
 * (registry.h) wraps it as a handler; from there on nobody sees the difference.
 */

struct plain_parameter {
    const char *name;
    const char *type; /* of JSON Schema: "string", "integer" ... */
    const char *description;
    bool required;
    const char *const *words; /* the only values there are, ends with NULL; NULL: any */
    const char *fallback;     /* the value when it is left out, as JSON text; NULL: none */
};

struct plain_tool {
    const char *name;
    const char *group;
    const char *description;
    const struct plain_parameter *parameters; /* ends with one that has no name */

    /* On a tool worker. The arguments fit the parameters. Text for the model, which the caller frees;
     * or NULL, and *err says why. */
    char *(*run)(const json_t *args, struct err *err);

    const char *returns;     /* a remark on the text, or NULL */
    const char *const *tags; /* ends with NULL; NULL for none */
};

/* The tool as a handler. It is run again after a crash, because it can do no harm. */
struct tool_handler *plain_handler_new(const struct plain_tool *tool);
/* Does nothing for a handler that was not made so. */
void plain_handler_free(const struct tool_handler *handler);

#endif
