/*
 * The groups "skills" and "vars": their policies, and what the model reads about skills and variables.
 *
 * Both run without an approval. They reach nothing but the conversation and the run's skills, and a skill
 * that needs an approval asks for it itself (skill.c).
 *
 * The text about variables is sent wherever ReadVar is offered, not only when the group is turned on,
 * because results of all tools are kept in variables. For the same reason ReadVar and ListVars come along
 * with any server-side tool.
 *
 * Chinese is the second language of everything that the server writes for a model.
 */

#include "core/memory/skill.h"
#include "handlers/handlers.h"

static const json_t *skills_of(const struct run_settings *settings)
{
    return settings->skills;
}

/* clang-format off */
static const struct group_index skills_index = {
    .title = {"**Skills:**", "**技能：**"},
    .head = "Skill",
    .tool = "skill",
    .variable = SKILL_VARIABLE_PREFIX,
};

const struct tool_group skills_group = {
    .name = SKILL_GROUP,
    .entries = skills_of,
    .auto_execute = true,
    .prompt =
        {"Skills are instructions for particular kinds of tasks. Before you begin such a task, "
         "read its skill with `skill`, then do as it says.",
         "技能是针对特定任务的说明。开始此类任务前，先用 `skill` "
         "阅读对应的技能，再按其要求执行。"},
    .index = &skills_index,
};

/* In the order in which the model is offered them. */
static const char *const along[] = {"ReadVar", "ListVars", NULL};

const struct tool_group vars_group = {
    .name = "vars",
    .auto_execute = true,
    .reader = "ReadVar",
    .about_variables = {
    "\n## Variables\n\n"
    "What a tool gave you is kept as a variable; if you were shown only part of it, a notice "
    "names the variable that holds the whole.\n\n"
    "- `ReadVar` (arguments `name`, `start`, `length`) reads one.\n"
    "- `ListVars` (arguments `filter` with `type`, `search` and `tag`, `page`, `pageSize`) lists "
    "them, 25 on a page.\n"
    "- `$VAR_REF{{name}}` in an argument passes a value to a tool without your repeating it; "
    "how, stands in `Rule/Agent/VarRef`.\n\n"
    "## Rule documents\n\n"
    "Rules for particular tasks are variables named `Rule/<group>/<rule>`. Before you act on "
    "such a task, read its rule. Example: the task has several steps, so first call "
    "`ReadVar({\"name\": \"Rule/Agent/TODO\"})`, then do as it says.\n",
    "\n## 变量\n\n"
    "工具的结果会保存为变量；如果只向你展示了一部分，提示中会给出保存完整内容的变量名。\n\n"
    "- `ReadVar`（参数 `name`、`start`、`length`）用于读取变量。\n"
    "- `ListVars`（参数 `filter`（含 `type`、`search`、`tag`）、`page`、`pageSize`）用于列出变量，"
    "每页 25 个。\n"
    "- 在参数中写 `$VAR_REF{{name}}` 可以把变量的值传给工具而无需重复；详见 "
    "`Rule/Agent/VarRef`。\n\n"
    "## 规则文档\n\n"
    "特定任务的规则保存在名为 `Rule/<组>/<规则>` 的变量中。执行此类任务前，应先阅读对应规则。"
    "示例：任务包含多个步骤，则先调用 `ReadVar({\"name\": \"Rule/Agent/TODO\"})`，"
    "再按其要求执行。\n"},
    .along = along,
};
/* clang-format on */
