/*
 * code_interpreter_call -- what the call of a tool that runs code looks like. The code streams; it is whole
 * when it begins to run.
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
