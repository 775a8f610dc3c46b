/*
 * The group "basic": its policy, and its lines in the instructions for the model.
 *
 * Its tools run without an approval, because they read their arguments and nothing else. Each line says
 * when to use a tool. What the tool does stands in its description, which the model has anyway.
 */

#include "handlers/handlers.h"

static const struct group_line lines[] = {
    {"datetime",
     {"For anything that depends on the date or the time, call `datetime` first: you have no "
      "clock.",
      "凡涉及日期或时间，先调用 `datetime`：你没有时钟。"}},
    {"text",
     {"To count, find or replace in a text exactly, use `text` instead of doing it by eye.",
      "需要精确计数、查找或替换文本时，使用 `text`，不要凭目测。"}},
    {"json2interface",
     {"To describe the shape of JSON, use `json2interface`.",
      "需要描述 JSON 的结构时，使用 `json2interface`。"}},
    {0},
};

const struct tool_group basic_group = {.name = "basic", .auto_execute = true, .lines = lines};
