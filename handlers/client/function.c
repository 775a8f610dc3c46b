/*
 * function -- a tool the application has and executes itself.
 *
 * Name, description and schema come with the request; the arguments go out as the model writes
 * them, while it writes, even when they are not JSON: the application is the one to say so. Hence
 * no announce(): there is nothing to make of them.
 */

#include "handlers/handlers.h"

const struct tool_handler function_handler = {
    .name = "function",
    .flags = TOOL_NAMED | TOOL_AS_WRITTEN,
};
