/*
 * The group "script": code that the model writes for one call, and its output.
 *
 * Each call runs in a box of its own (one_shot.h): nothing stays but files of the workspace. A person is asked
 * once for each code, and sees its output before the model reads it.
 */

#include "handlers/handlers.h"

static const struct group_line lines[] = {
    {"Shell",
     {"`Shell`: commands for bash, or a whole script of it.",
      "`Shell`：bash 命令或完整的 bash 脚本。"}},
    {"Python",
     {"`Python`: a script; print what you want to read.",
      "`Python`：Python 脚本；用 print 输出需要读取的内容。"}},
    {"JavaScript",
     {"`JavaScript`: the body of an async function: what it prints and returns comes back. It "
      "has 5 "
      "seconds, and no files or network.",
      "`JavaScript`：异步函数体，返回其打印内容和返回值；限时 5 秒，不能访问文件和网络。"}},
    {"Pandoc",
     {"`Pandoc`: a document of the workspace in another format, Markdown unless you say "
      "otherwise.",
      "`Pandoc`：转换工作区中的文档格式，默认转换为 Markdown。"}},
    {0},
};

static const struct skill_rule rules[] = {
    {.name = "var-ref-inject",
     .description = {"Variables for scripts: references in `injectVar`",
                     "脚本变量：在 `injectVar` 中使用变量引用"},
     .when = {"A script is to work on a value that a variable holds",
              "脚本需要处理变量中保存的数据时"},
     .prompt =
         {"A reference in `injectVar` hands a value to a script without writing it out.\n\n"
          "1. A reference has exactly two braces on each side: `$VAR_REF{{name}}`.\n"
          "2. What a reference stands for is always a text. Decode JSON in the script.\n\n"
          "With a variable `large_json` (look it up with `ListVars`):\n\n"
          "```json\n"
          "{\"code\": \"import json\\nprint(len(json.loads(data)))\", \"injectVar\": "
          "{\"data\": \"$VAR_REF{{large_json}}\"}}\n"
          "```\n\n"
          "bash sees it as `$data`, JavaScript as the constant `data`. All of them find its "
          "text "
          "in the file `/tmp/call/vars/data`, but for JavaScript.",
          "在 `injectVar` 中使用变量引用，可以把数据交给脚本而无需重写其内容。\n\n"
          "1. 引用必须使用两层花括号：`$VAR_REF{{name}}`。\n"
          "2. 引用的值总是文本；如为 JSON，请在脚本中解码。\n\n"
          "假设存在变量 `large_json`（用 `ListVars` 确认）：\n\n"
          "```json\n"
          "{\"code\": \"import json\\nprint(len(json.loads(data)))\", \"injectVar\": "
          "{\"data\": \"$VAR_REF{{large_json}}\"}}\n"
          "```\n\n"
          "bash 中为 `$data`，JavaScript 中为常量 `data`。除 JavaScript 外，其文本也在文件 "
          "`/tmp/call/vars/data` 中。"}},
    {0},
};

const struct tool_group script_group = {
    .name = "script",
    .prompt =
        {"For exact work that models are bad at: arithmetic, statistics, many files. Each call "
         "starts anew: of an earlier one only files in /mnt/data are left. There is no "
         "network. "
         "`injectVar` hands values to the code.",
         "适用于模型不擅长的精确任务：数学计算、统计分析、批量处理。每次调用都从头开始，"
         "只保留 /mnt/data 中的文件；没有网络。用 `injectVar` 向代码传递变量。"},
    .lines = lines,
    .rules = rules,
};
