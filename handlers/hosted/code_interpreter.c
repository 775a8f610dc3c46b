/*
 * code_interpreter_call -- the item of a tool that runs code.
 *
 * The code streams while the tool writes it, and is complete at the stage "interpreting", when it begins to
 * run. There is no fill(): the fields are what the tool has streamed.
 */

#include "handlers/handlers.h"

static const struct item_stream streams[] = {
    {"code", "response.code_interpreter_call_code", "interpreting"},
    {0},
};

const struct tool_item code_interpreter_item = {
    .type = "code_interpreter_call",
    .fields = "{\"code\":\"\",\"container_id\":\"\",\"outputs\":[]}",
    .streams = streams,
};
