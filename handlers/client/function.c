/*
 * function -- a tool that the client has and executes itself.
 *
 * Name, description and schema come with the request. The arguments are streamed as the model writes
 * them, even when they are not JSON: only the client can decide what to do then. There is no
 * announce(), because nothing has to be converted.
 */

#include "handlers/handlers.h"

const struct tool_handler function_handler = {
    .name = "function",
    .flags = TOOL_NAMED | TOOL_AS_WRITTEN,
};
