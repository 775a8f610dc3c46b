/*
 * The group "basic": its policy, and its lines in the instructions for the model.
 *
 * Its tools run without an approval, because they read their arguments and nothing else. Each line says
 * when to use a tool. What the tool does stands in its description, which the model has anyway. What a model
 * needs only for some calls is a rule that it reads then; what it needs for every answer is pinned.
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

static const struct skill_rule rules[] = {
    {
        .name = "results",
        .description = {"Repeating the result of a tool", "如何转述工具的结果"},
        .prompt =
            {"Give dates, times, counts and positions exactly as the tools return them, and a "
             "time together with its zone.",
             "日期、时间、数量和位置须与工具返回的结果完全一致；给出时间时须注明时区。"},
        .pinned = true,
    },
    {
        .name = "patterns",
        .description = {"Regular expressions in searches", "在搜索中使用正则表达式"},
        .when = {"Before you search with a regular expression, or for text that begins with a "
                 "slash",
                 "使用正则表达式，或搜索以斜杠开头的文本之前"},
        .prompt = {"# Searches of `text`\n\n"
                   "- `search` is plain text unless it is written `/expression/flags`.\n"
                   "- Flags: `i` ignores case, `m` lets `^` and `$` match at each line, `s` "
                   "lets `.` match "
                   "line ends. `g` and `u` change nothing: the operation says whether the "
                   "first match "
                   "counts or all.\n"
                   "- `/usr/bin` is plain text, because `bin` are no flags. `/usr/` is the "
                   "expression "
                   "`usr`; to find that text itself, search for `/\\/usr\\//`.\n"
                   "- In `replacement`, `$&` is the match, `$1` the first group, `$$` a dollar "
                   "sign.\n"
                   "- Positions and lengths count characters, from 0. Input and output have at "
                   "most 1 MiB.",
                   "# `text` 的搜索\n\n"
                   "- `search` 默认为普通文本；写成 `/表达式/标志` 时为正则表达式。\n"
                   "- 标志：`i` 忽略大小写，`m` 使 `^` 和 `$` 匹配每一行，`s` 使 `.` "
                   "匹配换行符。`g` 和 `u` "
                   "没有作用：匹配第一处还是全部由操作决定。\n"
                   "- `/usr/bin` 是普通文本，因为 `bin` 不是标志；`/usr/` 是表达式 "
                   "`usr`，要查找该文本本身，"
                   "请搜索 `/\\/usr\\//`。\n"
                   "- 在 `replacement` 中，`$&` 表示匹配内容，`$1` 表示第一个分组，`$$` "
                   "表示美元符号。\n"
                   "- 位置和长度按字符计算，从 0 开始。输入和输出最多 1 MiB。"},
    },
    {
        .name = "dates",
        .description = {"Formats and time zones", "日期格式与时区"},
        .prompt =
            {"# Formats of `datetime`\n\n"
             "- Tokens: `YYYY`, `MM` (month), `DD`, `HH` (0 to 23), `mm` (minute), `ss`. "
             "Everything "
             "else stays as it is, and so does a token that comes a second time.\n"
             "- There are no names of months or days of the week; take the parts and name them "
             "yourself.\n"
             "- `timezone` is a name of the IANA database, such as `Asia/Tokyo`, and no "
             "abbreviation such as `PDT`. Left out, the time is UTC.\n"
             "- The result is the present moment. For another date, compute from it.",
             "# `datetime` 的格式\n\n"
             "- 标记：`YYYY`、`MM`（月）、`DD`、`HH`（0 到 "
             "23）、`mm`（分）、`ss`。其他内容保持不变，"
             "重复出现的标记也保持不变。\n"
             "- 没有月份和星期的名称；请取出各部分后自行命名。\n"
             "- `timezone` 是 IANA 数据库中的名称，例如 `Asia/Tokyo`，而不是 `PDT` 之类的缩写。"
             "省略时为 UTC。\n"
             "- 结果是当前时刻；其他日期请据此推算。"},
    },
    {0},
};

const struct tool_group basic_group = {
    .name = "basic", .auto_execute = true, .lines = lines, .rules = rules};
