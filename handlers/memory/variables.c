/*
 * variables -- named values of the conversation, for the model to read and write.
 *
 * Results of other tools are stored as variables by the engine (core/run/calls/run_variables.h). These four
 * tools read them, and keep the model's own notes beside them.
 *
 * To the model there is one space of names. Behind it are four sources: variables of the store or of memory
 * (access.ops), long messages of the run's history, rules of the program, and skills of the run. Only the
 * first can be written. ListVars pages through the first in the database, and appends the others behind it;
 * `total` counts all of them.
 *
 * Descriptions and tags may have been written by a stranger, whose text a tool has read. A line break in
 * one could make it look like another variable, so each is printed as one line.
 *
 * WriteVar marks a value as plain when the arguments had references: the value then contains text that the
 * model did not write, and references in it must not be resolved later.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/message_cache.h"
#include "core/memory/skill.h"
#include "core/tool/rules.h"
#include "handlers/handlers.h"

#define PAGE_DEFAULT 25
#define PAGE_LIMIT   100
#define NAMES_LIMIT  1000 /* of one call of RemoveVars */

static const char list_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    " \"filter\": {\"type\": \"object\", \"description\": \"Which ones; left out: all.\","
    "  \"additionalProperties\": false, \"properties\": {"
    "   \"type\": {\"type\": \"string\", \"enum\": [\"RULE\", \"ToolCallResult\", "
    "\"ToolCallArgs\","
    "    \"MessageCache\", \"LLMAdd\", \"USER_ADD\"], \"description\": \"Only of this type.\"},"
    "   \"search\": {\"type\": \"string\","
    "    \"description\": \"Only with this text in the name or the description.\"},"
    "   \"tag\": {\"type\": \"string\", \"description\": \"Only with exactly this tag.\"}}},"
    " \"page\": {\"type\": \"number\", \"description\": \"Which page; 1 is the first.\"},"
    " \"pageSize\": {\"type\": \"number\", \"description\": \"Variables on a page; 25.\"}}}";

static const char read_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"name\"],"
    " \"properties\": {"
    " \"name\": {\"type\": \"string\", \"description\": \"The name of the variable.\"},"
    " \"start\": {\"type\": \"number\","
    "  \"description\": \"The first character to read, counted from 0.\"},"
    " \"length\": {\"type\": \"number\","
    "  \"description\": \"How many characters; left out or 0: all the rest.\"}}}";

static const char write_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"name\"],"
    " \"properties\": {"
    " \"name\": {\"type\": \"string\","
    "  \"description\": \"Letters, digits, _ and -.\"},"
    " \"value\": {\"type\": \"string\","
    "  \"description\": \"What it holds. Needed for a new one; left out: it stays.\"},"
    " \"desc\": {\"type\": \"string\", \"maxLength\": 1024,"
    "  \"description\": \"What it is about.\"},"
    " \"tags\": {\"type\": \"array\", \"maxItems\": 16,"
    "  \"items\": {\"type\": \"string\", \"maxLength\": 64},"
    "  \"description\": \"Words to find it by.\"}}}";

static const char remove_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"names\"],"
    " \"properties\": {"
    " \"names\": {\"type\": \"array\", \"maxItems\": 1000, \"items\": {\"type\": \"string\"},"
    "  \"description\": \"The names of the variables.\"}}}";

/* A number rounded down; the fallback for an invalid value. */
static int64_t whole(const json_t *args, const char *key, int64_t least, int64_t fallback)
{
    const json_t *value = json_object_get(args, key);
    double number = json_is_number(value) ? json_number_value(value) : (double)fallback;

    if (!(number >= (double)least))
        return least;
    return number < 1e15 ? (int64_t)number : (int64_t)1e15;
}

static bool is_rule(const char *name)
{
    return strncmp(name, VARIABLE_RULE_PREFIX, strlen(VARIABLE_RULE_PREFIX)) == 0;
}

/* ---- Rules, messages and skills: variables that are not stored ---- */

static void make_rule(const struct rule_ref *ref, const struct variable_access *access,
                      struct variable *ret_variable)
{
    AUTO_FREE char *name = tool_rule_variable(ref);

    *ret_variable =
        (struct variable){.type = VARIABLE_RULE,
                          .keep = true,
                          .value = mem_strdup(wording_in(&ref->rule->prompt, access->language)),
                          .description = tool_rule_about(ref, access->language)};
    (void)snprintf(ret_variable->name, sizeof(ret_variable->name), "%s", name);
    ret_variable->length = (int64_t)variable_length(ret_variable->value);
}

/* For a variable that is not stored. */
static bool matches(const struct variable *variable, const struct variable_query *query)
{
    return (!query->type || strcmp(query->type, variable_type_name(variable->type)) == 0) &&
           !query->tag &&
           (!query->search || strcasestr(variable->name, query->search) ||
            strcasestr(variable->description, query->search));
}

/* ---- ListVars ---- */

struct listing {
    struct variable_query query;
    int64_t page, size;
    struct variable *variables;
    size_t count;
    int64_t total;
};

static void add_filter(struct buf *text, const struct variable_query *query)
{
    const char *gap = " (filtered: ";

    if (query->type) {
        buf_addf(text, "%stype=%s", gap, query->type);
        gap = ", ";
    }
    if (query->search) {
        buf_addf(text, "%ssearch=\"%s\"", gap, query->search);
        gap = ", ";
    }
    if (query->tag) {
        buf_addf(text, "%stag=\"%s\"", gap, query->tag);
        gap = ", ";
    }
    if (*gap == ',')
        buf_add_char(text, ')');
}

/* Adds a text as one line, so that no description can look like another variable. */
static void add_line(struct buf *text, const char *words)
{
    for (; *words; words++)
        buf_add_char(text, (unsigned char)*words < ' ' || *words == 0x7f ? ' ' : *words);
}

static void add_variable(struct buf *text, const struct variable *variable)
{
    const json_t *tag;
    size_t i;

    buf_addf(text, "\n- %s\n  - Type: %s; Len: %lld\n  - Desc: ", variable->name,
             variable_type_name(variable->type), (long long)variable->length);
    add_line(text, variable->description ? variable->description : "N/A");
    buf_add_text(text, "\n  - Tags: [");
    json_array_foreach (variable->tags, i, tag) {
        buf_add_text(text, i ? ", " : "");
        add_line(text, json_string_value(tag));
    }
    buf_add_text(text, "]");
}

/* The call that lists the next page. */
static void add_next_call(struct buf *text, const json_t *args, const struct listing *listing)
{
    json_auto_t *next = json_deep_copy(args);
    AUTO_FREE char *json = NULL;

    json_set_int(next, "page", listing->page + 1);
    json_set_int(next, "pageSize", listing->size);
    json = json_text(next);
    buf_addf(text, " Next page: ListVars(%s)", json);
}

static void add_listing(struct buf *text, const json_t *args, const struct listing *listing)
{
    int64_t pages = (listing->total + listing->size - 1) / listing->size;

    if (pages < 1)
        pages = 1;
    buf_add_text(text, "Available Variables");
    add_filter(text, &listing->query);
    buf_add_char(text, ':');
    for (size_t i = 0; i < listing->count; i++)
        add_variable(text, &listing->variables[i]);
    buf_addf(text, "\nPage %lld/%lld (total: %lld).", (long long)listing->page,
             (long long)pages, (long long)listing->total);
    if (listing->page < pages)
        add_next_call(text, args, listing);
}

static void list_one(struct listing *listing, struct variable *variable)
{
    if (!matches(variable, &listing->query))
        return;
    if (listing->total++ >= listing->query.skip && (int64_t)listing->count < listing->size) {
        listing->variables[listing->count++] = *variable;
        *variable = (struct variable){0};
    }
}

static void add_messages(struct listing *listing, const struct message_cache *messages)
{
    for (size_t n = 0; n < message_cache_count(messages); n++) {
        AUTO_VARIABLE message = {0};

        (void)message_cache_at(messages, n, &message);
        list_one(listing, &message);
    }
}

static void add_rules(struct listing *listing, const struct variable_access *access)
{
    struct rule_ref ref;

    for (size_t n = 0; tool_rule_at(n, &ref); n++) {
        AUTO_VARIABLE rule = {0};

        make_rule(&ref, access, &rule);
        list_one(listing, &rule);
    }
}

/* Without a length, which is unknown before a skill is read. */
static void add_skills(struct listing *listing, const json_t *skills)
{
    size_t i;
    json_t *skill;

    json_array_foreach (skills, i, skill) {
        AUTO_VARIABLE rule = {.type = VARIABLE_RULE,
                              .keep = true,
                              .description =
                                  mem_strdup(json_get_string(skill, "description", ""))};

        (void)snprintf(rule.name, sizeof(rule.name), SKILL_VARIABLE_PREFIX "%s",
                       json_get_string(skill, "name", ""));
        list_one(listing, &rule);
    }
}

/* Variables that are not stored come behind all stored ones. The query already has skip and limit for the
 * stored ones; list_one() continues to count. */
static void add_unwritten(struct listing *listing, const struct tool_call *call,
                          const struct variable_access *access)
{
    listing->variables =
        mem_resize(listing->variables, (size_t)listing->size + 1, sizeof(*listing->variables));
    add_messages(listing, access->messages);
    add_rules(listing, access);
    add_skills(listing, tool_call_skills(call));
}

static bool is_skill(const char *name)
{
    return strncmp(name, SKILL_VARIABLE_PREFIX, strlen(SKILL_VARIABLE_PREFIX)) == 0;
}

/* A skill that needs an approval is read by the tool `skill`, which requests it. */
static enum err_code read_skill(const struct tool_call *call, const char *name,
                                struct variable *ret_variable, struct err *err)
{
    const char *path = name + strlen(SKILL_VARIABLE_PREFIX);
    const char *slash = strchr(path, '/');
    AUTO_FREE char *own = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(path);
    const json_t *skill = skill_find(tool_call_skills(call), own);

    if (!skill)
        return err_set(err, ERR_NOT_FOUND, "Variable '%.128s' not found.", name);
    if (json_get_bool(skill, "ask", false))
        return err_set(err, ERR_FORBIDDEN,
                       "Somebody has to agree before this skill is read: call "
                       "skill({\"name\": \"%.64s\"}).",
                       own);
    return tool_call_read_skill(call, skill, slash ? slash + 1 : NULL, &ret_variable->value,
                                err);
}

static enum err_code list_vars(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const json_t *args = tool_call_args(call);
    const json_t *filter = json_object_get(args, "filter");
    struct listing listing = {.page = whole(args, "page", 1, 1),
                              .size = whole(args, "pageSize", 1, PAGE_DEFAULT),
                              .query = {.type = json_get_string(filter, "type", NULL),
                                        .search = json_get_string(filter, "search", NULL),
                                        .tag = json_get_string(filter, "tag", NULL)}};
    struct variable_access access;
    AUTO_BUF text = {0};
    enum err_code rc = tool_call_variables(call, &access, err);

    if (listing.size > PAGE_LIMIT)
        listing.size = PAGE_LIMIT;
    if (listing.page > VARIABLE_COUNT_LIMIT)
        listing.page = VARIABLE_COUNT_LIMIT;
    listing.query.limit = listing.size;
    listing.query.skip = (listing.page - 1) * listing.size;
    if (!rc)
        rc = access.ops->list(&access, tool_call_tenant(call), &listing.query,
                              &listing.variables, &listing.count, &listing.total, err);
    if (rc)
        return rc;
    add_unwritten(&listing, call, &access);
    add_listing(&text, args, &listing);
    variables_free(listing.variables, listing.count);
    tool_result_add_bytes(ret_result, text.data, text.length);
    return ERR_OK;
}

/* ---- ReadVar ---- */

static enum err_code read_var(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *name = json_get_string(args, "name", "");
    size_t start = (size_t)whole(args, "start", 0, 0);
    size_t length = (size_t)whole(args, "length", 0, 0);
    AUTO_VARIABLE variable = {0};
    AUTO_FREE char *part = NULL;
    struct variable_access access;
    struct rule_ref rule;
    enum err_code rc = tool_call_variables(call, &access, err);

    /* By the form of the name: rule, skill, else a variable or a message. */
    if (!rc && tool_rule_find(name, &rule))
        make_rule(&rule, &access, &variable);
    else if (!rc && is_skill(name))
        rc = read_skill(call, name, &variable, err);
    else if (!rc)
        rc = tool_call_read_variable(call, &access, name, &variable, err);
    if (rc)
        return rc;
    part = variable_slice(variable.value, start, length ? length : SIZE_MAX);
    tool_result_add_text(ret_result, part);
    return ERR_OK;
}

/* ---- WriteVar ---- */

static enum err_code check_write(const struct variable_change *change, struct err *err)
{
    if (is_rule(change->name))
        return err_set(err, ERR_INVALID, "Variable '%.128s' is a rule and cannot be changed.",
                       change->name);
    if (variable_is_message(change->name))
        return err_set(err, ERR_INVALID,
                       "Variable '%.128s' is a message and cannot be changed.", change->name);
    if (!variable_name_fits(change->name))
        return err_set(err, ERR_INVALID,
                       "'%.128s' is no name for a variable: use letters, digits, _ and -, at "
                       "most %zu.",
                       change->name, VARIABLE_NAME_LIMIT);
    if (change->value && strlen(change->value) > VARIABLE_VALUE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "The value is too long: at most %zu bytes.",
                       VARIABLE_VALUE_LIMIT);
    return ERR_OK;
}

static enum err_code write_var(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *value = json_get_string(args, "value", NULL);
    struct variable_change change = {.name = json_get_string(args, "name", ""),
                                     .run_id = tool_call_run(call),
                                     .type = VARIABLE_LLM_ADD,
                                     .value = value,
                                     .plain = tool_call_is_resolved(call),
                                     .description = json_get_string(args, "desc", NULL),
                                     .tags = json_object_get(args, "tags")};
    AUTO_FREE char *text = NULL;
    struct variable_access access;
    bool created = false;
    enum err_code rc = tool_call_variables(call, &access, err);

    if (!rc)
        rc = check_write(&change, err);
    if (!rc)
        rc = access.ops->put(&access, tool_call_tenant(call), &change, VARIABLE_PUT, &created,
                             err);
    if (rc)
        return rc;
    text = mem_printf("Variable '%s' %s successfully.", change.name,
                      created ? "created" : "updated");
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

/* ---- RemoveVars ---- */

static char *removal_text(const json_t *names, const json_t *removed)
{
    struct buf text = {0};
    AUTO_BUF failed = {0};
    const json_t *name;
    size_t i, count = 0;

    json_array_foreach (names, i, name) {
        if (json_list_has(removed, json_string_value(name)))
            continue;
        buf_addf(&failed, "%s%s", count++ ? ", " : "", json_string_value(name));
    }
    buf_addf(&text, "Removed %zu variable(s).", json_array_size(removed));
    if (count)
        buf_addf(&text, " Failed to remove %zu variable(s): %s.", count, failed.data);
    return buf_take(&text);
}

static enum err_code remove_vars(struct tool_call *call, struct tool_result *ret_result,
                                 struct err *err)
{
    const json_t *names = json_object_get(tool_call_args(call), "names");
    AUTO_FREE const char **list = mem_new_array(const char *, json_array_size(names) + 1);
    json_auto_t *removed = NULL;
    AUTO_FREE char *text = NULL;
    struct variable_access access;
    size_t count = json_array_size(names);
    enum err_code rc = tool_call_variables(call, &access, err);

    if (!rc && count > NAMES_LIMIT)
        rc = err_set(err, ERR_TOO_LARGE, "At most %d names at once.", NAMES_LIMIT);
    for (size_t i = 0; !rc && i < count; i++)
        list[i] = json_string_value(json_array_get(names, i));
    if (!rc)
        rc = access.ops->remove(&access, tool_call_tenant(call), list, count, &removed, err);
    if (rc)
        return rc;
    text = removal_text(names, removed);
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

#define VARS_FLAGS (TOOL_NOT_KEPT | TOOL_VARIABLES)

const struct tool_handler list_vars_handler = {
    .name = "ListVars",
    .group = "vars",
    .description = "Lists the variables of this conversation: results of tools, and what was "
                   "written into variables.",
    .parameters = list_parameters,
    .flags = VARS_FLAGS | TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .run = list_vars,
};

const struct tool_handler read_var_handler = {
    .name = "ReadVar",
    .group = "vars",
    .description = "Reads a variable, or a part of it. Results of tools that were cut are kept "
                   "in full in variables.",
    .parameters = read_parameters,
    .flags = VARS_FLAGS | TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_READER,
    .run = read_var,
};

const struct tool_handler write_var_handler = {
    .name = "WriteVar",
    .group = "vars",
    .description = "Makes a variable, or changes one: only what is given.",
    .parameters = write_parameters,
    .flags = VARS_FLAGS | TOOL_IDEMPOTENT,
    .run = write_var,
};

const struct tool_handler remove_vars_handler = {
    .name = "RemoveVars",
    .group = "vars",
    .description = "Removes variables that are not needed any more.",
    .parameters = remove_parameters,
    .flags = VARS_FLAGS,
    .run = remove_vars,
};
