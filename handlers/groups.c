/*
 * What groups tell the model about their tools; core/tool/rules.h makes the text of it.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/memory/skill.h"
#include "handlers/handlers.h"

static bool has(const char *const *tools, const char *name)
{
    for (; *tools; tools++)
        if (strcmp(*tools, name) == 0)
            return true;
    return false;
}

/* What is said of one tool. */
struct line {
    const char *tool;
    struct wording text;
};

/* The lines of the tools that are enabled. */
static char *say_of_each(const struct line *lines, size_t count, const char *const *tools,
                         enum tool_language language)
{
    AUTO_BUF text = {0};

    for (size_t i = 0; i < count; i++)
        if (has(tools, lines[i].tool))
            buf_addf(&text, "- %s\n", wording_in(&lines[i].text, language));
    return buf_take(&text);
}

/* ---- basic ---- */

static const struct line basic_lines[] = {
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
};

static char *say_basic(const char *const *tools, enum tool_language language)
{
    return say_of_each(basic_lines, COUNT_OF(basic_lines), tools, language);
}

const struct tool_group basic_group = {
    .name = "basic", .auto_execute = true, .make_prompt = say_basic};

const struct tool_group skills_group = {
    .name = SKILL_GROUP,
    .enabled_by = SKILLS_KEY,
    .auto_execute = true,
    .prompt =
        {"Skills are instructions for particular kinds of tasks. Before you begin such a task, "
         "read its skill with `skill`, then do as it says.",
         "技能是针对特定任务的说明。开始此类任务前，先用 `skill` "
         "阅读对应的技能，再按其要求执行。"},
};

/* What there is to say of variables, rules.c says for all groups. */
const struct tool_group vars_group = {.name = "vars", .auto_execute = true};
