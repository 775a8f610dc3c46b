/*
 * rules.c -- builds the text about tools that stands behind the instructions of a request.
 *
 *   <tool-rules>                  basic rules, and how to use variables if their reader is offered
 *   <tool-group-rule group="x">   for each enabled group: its tools, its prompt, its pinned rules,
 *                                 a table of its other rules, a table of the run's own entries
 *   <mcp-servers>                 what each remote server is for
 *
 * Equal groups, tools and language give equal bytes. Upstreams cache the beginning of a prompt, and this
 * text stands near the beginning of every request of a conversation, so nothing in it may depend on the
 * time, on the run or on the order of a hash table.
 *
 * Long rules are not sent. The model sees a table of their names and reads them with the tool that reads
 * variables ("Rule/<group>/<rule>"). A model without that tool gets no table, because it could not follow
 * it. Rules are constants of the program and are looked up here; the store knows nothing of them.
 *
 * Texts of strangers (descriptions of skills and servers) are put into tables and lines. They are escaped
 * so that none of them can end its cell or line and look like text of the server.
 */

#include "core/tool/rules.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/variable.h"
#include "core/tool/registry.h"

const char *wording_in(const struct wording *wording, enum language language)
{
    const char *text = language == LANGUAGE_CHINESE && wording->zh ? wording->zh : wording->en;

    return text ? text : "";
}

/* ---- The server's own rules ---- */

static const struct skill_rule agent_rules[] = {
    {
        .name = "VarRef",
        .description = {"Passing values to tools with $VAR_REF", "用 $VAR_REF 向工具传递变量"},
        .when = {"Before an argument would repeat a long text that a variable holds",
                 "当参数需要重复某个变量中的长文本时"},
        .prompt =
            {"# $VAR_REF\n\n"
             "A string in the arguments of any tool may name a variable instead of repeating "
             "its text. The server puts the text in before the tool runs, and you spend no "
             "tokens on it.\n\n"
             "- `$VAR_REF{{name}}`: the whole value\n"
             "- `$VAR_REF{{name:start}}`: from the character `start` (0 is the first) to the "
             "end\n"
             "- `$VAR_REF{{name:start:length}}`: `length` characters from there\n\n"
             "Write exactly two braces and no blanks. Names have letters, digits, `_` and `-` "
             "only, so rules (`Rule/...`) can be read but not referenced. One string may hold "
             "several references, also inside lists and objects. An unknown name is an error "
             "that lists the names there are, and the tool is not run.\n\n"
             "Example: `{\"text\": \"Summary: $VAR_REF{{search_result:0:500}}\"}`",
             "# $VAR_REF\n\n"
             "任何工具的字符串参数都可以引用变量，而不必重复其内容。服务器会在工具运行前填入文"
             "本，"
             "不消耗你的 token。\n\n"
             "- `$VAR_REF{{name}}`：完整的值\n"
             "- `$VAR_REF{{name:start}}`：从第 `start` 个字符（从 0 开始）到结尾\n"
             "- `$VAR_REF{{name:start:length}}`：从该处起 `length` 个字符\n\n"
             "必须正好两个花括号，不含空格。名称只能由字母、数字、`_` 和 `-` 组成，因此规则"
             "（`Rule/...`）可以读取但不能引用。同一字符串可包含多个引用，列表和对象中也可以。"
             "未知名称会返回错误并列出可用名称，工具不会执行。\n\n"
             "示例：`{\"text\": \"摘要：$VAR_REF{{search_result:0:500}}\"}`"},
    },
    {
        .name = "TODO",
        .description = {"Keeping a to-do list in variables", "用变量维护待办列表"},
        .when = {"When a task has several steps", "当任务包含多个步骤时"},
        .prompt =
            {"# To-do list\n\n"
             "Keep a task of several steps as variables, one for each step.\n\n"
             "- Name: `TODO_<number>_<brief>`, e.g. `TODO_1_read-the-page`\n"
             "- Value: what is to be done, and when it is done\n"
             "- Tags: `TODO`, and one of `PENDING`, `DONE`, `BLOCKED`\n\n"
             "Write the steps with WriteVar before you begin, change the tags of a step as "
             "soon as its state changes, and look at what is left with "
             "`ListVars({\"filter\": {\"tag\": \"TODO\"}})`. Before you give your answer, no "
             "step should be PENDING.",
             "# 待办列表\n\n"
             "将多步骤任务保存为变量，每个步骤一个。\n\n"
             "- 名称：`TODO_<编号>_<简述>`，例如 `TODO_1_read-the-page`\n"
             "- 值：要做什么，以及完成的标准\n"
             "- 标签：`TODO`，以及 `PENDING`、`DONE`、`BLOCKED` 之一\n\n"
             "开始前用 WriteVar 写下各步骤，状态变化时立即更新标签，用 "
             "`ListVars({\"filter\": {\"tag\": \"TODO\"}})` 查看剩余步骤。"
             "给出最终回答前，不应再有 PENDING 的步骤。"},
    },
    {0},
};

static const struct tool_group agent = {.name = "Agent", .rules = agent_rules};

/* ---- Looking rules up ---- */

static size_t count_rules(const struct tool_group *group)
{
    size_t count = 0;

    while (group->rules && group->rules[count].name)
        count++;
    return count;
}

/* The server's own rules come first, then those of the groups. */
static const struct tool_group *scope_at(size_t n)
{
    return n ? tool_registry_described(n - 1) : &agent;
}

bool tool_rule_at(size_t n, struct rule_ref *ret_ref)
{
    const struct tool_group *scope;

    for (size_t i = 0; (scope = scope_at(i)); i++) {
        size_t count = count_rules(scope);

        if (n < count) {
            *ret_ref = (struct rule_ref){.group = scope->name, .rule = &scope->rules[n]};
            return true;
        }
        n -= count;
    }
    return false;
}

char *tool_rule_variable(const struct rule_ref *ref)
{
    return mem_printf(VARIABLE_RULE_PREFIX "%s/%s", ref->group, ref->rule->name);
}

char *tool_rule_about(const struct rule_ref *ref, enum language language)
{
    return mem_printf("Skill rule for %s: %s", ref->group,
                      wording_in(&ref->rule->description, language));
}

bool tool_rule_find(const char *variable, struct rule_ref *ret_ref)
{
    struct rule_ref ref;

    for (size_t i = 0; tool_rule_at(i, &ref); i++) {
        AUTO_FREE char *name = tool_rule_variable(&ref);

        if (strcmp(name, variable) == 0) {
            *ret_ref = ref;
            return true;
        }
    }
    return false;
}

/* ---- The text for all groups ---- */

static const struct wording basics = {
    "You can call tools, and you should whenever one of them does a step better than you could "
    "without it.\n\n"
    "## Basic rules\n\n"
    "- Every tool takes the optional argument `limit`, whether or not its definition names it: "
    "how many characters of the result you are shown. `-1` or `0` means all of them.\n"
    "- Some calls are reviewed by the user before they run, and some results before you see "
    "them. The user may refuse. If a refusal comes with a reason, you must heed it.\n\n"
    "## Compressed calls\n\n"
    "When a chain of calls has ended, their results may be hidden from you, with log entries "
    "in their place. FORBIDDEN is any text of yours that looks like such a log entry:\n\n"
    "- instead of calling the tool,\n"
    "- or for a call that never happened.\n",
    "你可以调用工具；凡是工具能更好完成的步骤，都应当使用工具。\n\n"
    "## 基本规则\n\n"
    "- 每个工具都有一个隐藏的可选参数 `limit`，用于限制返回文本的字符数，`-1` 或 `0` "
    "表示不限制。\n"
    "- 部分调用在执行前、部分结果在返回给你之前会由用户审核，用户可能拒绝。"
    "如果拒绝附有理由，必须予以重视。\n\n"
    "## 工具调用的压缩\n\n"
    "一轮工具调用结束后，其结果可能会被隐藏，并以日志条目代替。禁止输出任何类似这种日志的文本："
    "\n\n"
    "- 用它来代替真正的工具调用；\n"
    "- 或为从未发生的调用伪造日志。\n",
};

/* The group that reads variables, if its reader is offered. Without the reader the model cannot use what
 * the text says about variables. */
static const struct tool_group *find_reader(const struct rules_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tool_group *group = tool_registry_group(groups[i].name);

        for (size_t n = 0; group && group->reader && groups[i].tools[n]; n++)
            if (strcmp(groups[i].tools[n], group->reader) == 0)
                return group;
    }
    return NULL;
}

static void add_fixed(struct buf *buf, const struct tool_group *reader, enum language language)
{
    buf_add_text(buf, "<tool-rules>\n");
    buf_add_text(buf, wording_in(&basics, language));
    if (reader)
        buf_add_text(buf, wording_in(&reader->about_variables, language));
    buf_add_text(buf, "</tool-rules>");
}

/* ---- The text of one group ---- */

static const struct wording contains = {
    "Group \"%s\" contains following tools: ",
    "工具组 \"%s\" 包含以下工具：",
};
static const struct wording pinned_title = {"**Pinned Rules:**", "**固定规则：**"};
static const struct wording index_title = {
    "**On-Demand Documentation (Stored as Variables):**",
    "**按需文档（保存为变量）：**",
};
static const struct wording as_needed = {"As needed", "按需"};

static const char blanks[] = " \t\r\n";

/* Without the blanks around it. */
static void add_trimmed(struct buf *buf, const char *text)
{
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length && strchr(blanks, text[length - 1]))
        length--;
    buf_add(buf, text, length);
}

static bool is_blank(const char *text)
{
    return !text[strspn(text, blanks)];
}

static bool has_rules(const struct tool_group *group, bool pinned)
{
    for (size_t i = 0; i < count_rules(group); i++)
        if (group->rules[i].pinned == pinned)
            return true;
    return false;
}

static void add_pinned(struct buf *buf, const struct tool_group *group, enum language language)
{
    if (!has_rules(group, true))
        return;
    buf_addf(buf, "\n%s\n", wording_in(&pinned_title, language));
    for (size_t i = 0; i < count_rules(group); i++) {
        const struct skill_rule *rule = &group->rules[i];

        if (!rule->pinned)
            continue;
        buf_addf(buf, "\n**%s:**\n", wording_in(&rule->description, language));
        add_trimmed(buf, wording_in(&rule->prompt, language));
        buf_add_char(buf, '\n');
    }
}

static void add_row(struct buf *buf, const struct tool_group *group,
                    const struct skill_rule *rule, enum language language)
{
    const char *when = wording_in(&rule->when, language);

    buf_addf(buf, "| `" VARIABLE_RULE_PREFIX "%s/%s` | %s | %s |\n", group->name, rule->name,
             wording_in(&rule->description, language),
             *when ? when : wording_in(&as_needed, language));
}

static void add_rule_index(struct buf *buf, const struct tool_group *group, const char *reader,
                           enum language language)
{
    if (!has_rules(group, false))
        return;
    buf_addf(buf, "\n%s\n\n| Var | Description | When to Use |\n| --- | --- | --- |\n",
             wording_in(&index_title, language));
    for (size_t i = 0; i < count_rules(group); i++)
        if (!group->rules[i].pinned)
            add_row(buf, group, &group->rules[i], language);
    buf_addf(buf, "\n*Access via: %s({\"name\": \"<VarName>\"})*\n", reader);
}

/* The text comes from a stranger: it must not end the cell. */
static void add_cell(struct buf *buf, const char *text)
{
    for (; *text; text++)
        buf_addf(buf, *text == '|' ? "\\%c" : "%c", *text);
}

static void add_index(struct buf *buf, const struct group_index *index, const json_t *entries,
                      const char *reader, enum language language)
{
    size_t i;
    json_t *entry;

    if (!index || !json_array_size(entries))
        return;
    buf_addf(buf, "\n%s\n\n| %s | Description |\n| --- | --- |\n",
             wording_in(&index->title, language), index->head);
    json_array_foreach (entries, i, entry) {
        buf_addf(buf, "| `%s` | ", json_get_string(entry, "name", ""));
        add_cell(buf, json_get_string(entry, "description", ""));
        buf_add_text(buf, " |\n");
    }
    buf_addf(buf, "\n*Access via: %s({\"name\": \"<%s>\"})", index->tool, index->head);
    if (reader)
        buf_addf(buf, " / %s({\"name\": \"%s<%s>\"})", reader, index->variable, index->head);
    buf_add_text(buf, "*\n");
}

static bool has_tool(const char *const *tools, const char *name)
{
    for (; *tools; tools++)
        if (strcmp(*tools, name) == 0)
            return true;
    return false;
}

/* The group's prompt and the lines of its enabled tools. The caller frees. */
static char *prompt_of(const struct tool_group *group, const char *const *tools,
                       enum language language)
{
    AUTO_BUF text = {0};

    buf_add_text(&text, wording_in(&group->prompt, language));
    for (const struct group_line *line = group->lines; line && line->tool; line++)
        if (has_tool(tools, line->tool))
            buf_addf(&text, "- %s\n", wording_in(&line->text, language));
    return buf_take(&text);
}

static void add_group(struct buf *buf, const struct rules_group *enabled, const char *reader,
                      enum language language)
{
    const struct tool_group *group = tool_registry_group(enabled->name);
    AUTO_FREE char *prompt = group ? prompt_of(group, enabled->tools, language) : NULL;
    const char *about = wording_in(&contains, language);
    size_t name = strcspn(about, "%"); /* cut by hand: a format must be a literal */

    if (!prompt || is_blank(prompt) || !*enabled->tools)
        return;
    buf_addf(buf, "\n\n<tool-group-rule group=\"%s\">\n\n", group->name);
    buf_add(buf, about, name);
    buf_addf(buf, "%s%s", group->name, about + name + strlen("%s"));
    for (size_t i = 0; enabled->tools[i]; i++)
        buf_addf(buf, "%s%s", i ? ", " : "", enabled->tools[i]);
    buf_add_text(buf, ".\n\n");
    add_trimmed(buf, prompt);
    buf_add_char(buf, '\n');
    add_pinned(buf, group, language);
    if (reader)
        add_rule_index(buf, group, reader, language);
    add_index(buf, group->index, enabled->entries, reader, language);
    buf_add_text(buf, "</tool-group-rule>");
}

char *tool_rules_text(const struct rules_group *groups, size_t count, enum language language)
{
    const struct tool_group *reader = find_reader(groups, count);
    AUTO_BUF buf = {0};

    if (!count)
        return mem_strdup("");
    add_fixed(&buf, reader, language);
    for (size_t i = 0; i < count; i++)
        add_group(&buf, &groups[i], reader ? reader->reader : NULL, language);
    return buf_take(&buf);
}

static const struct wording about_servers = {
    "The names of their tools begin with the label.",
    "其工具的名称以该标签开头。",
};

/* A description is one line: it cannot look like another server's. */
static void add_line(struct buf *buf, const char *text)
{
    for (; *text; text++)
        buf_add_char(buf, *text == '\n' ? ' ' : *text);
    buf_add_char(buf, '\n');
}

char *tool_rules_servers_text(const struct rules_server *servers, size_t count,
                              enum language language)
{
    AUTO_BUF buf = {0};

    if (!count)
        return mem_strdup("");
    buf_addf(&buf, "<mcp-servers>\n%s\n\n", wording_in(&about_servers, language));
    for (size_t i = 0; i < count; i++) {
        buf_addf(&buf, "- %s: ", servers[i].label);
        add_line(&buf, servers[i].description);
    }
    buf_add_text(&buf, "</mcp-servers>");
    return buf_take(&buf);
}
