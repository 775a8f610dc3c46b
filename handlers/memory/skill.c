/*
 * skill -- reads one of the run's skills: instructions for one kind of task.
 *
 * The definition depends on the run. init() allows exactly the names of the run's skills, so a model that
 * invents a name learns it from the check of its arguments. A run without skills does not have the tool.
 *
 * Names and descriptions of skills are in the run's settings since the request was accepted. Their texts
 * are read from the store when the model wants one, on the worker.
 *
 * The whole text is shown (CUT_NO_LIMIT): half an instruction is worse than none. It is not kept in a
 * variable, because it can be read again under its own name, "Rule/skills/<name>".
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/memory/skill.h"
#include "handlers/handlers.h"

#define FILE_DESCRIPTION \
    "A file of the skill that its instructions name; left out: the instructions."

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"name\"],"
    " \"properties\": {\"name\": {\"type\": \"string\","
    "  \"description\": \"The name of the skill.\"},"
    "  \"file\": {\"type\": \"string\", \"description\": \"" FILE_DESCRIPTION "\"}}}";

/* The parameter allows the names of the run's skills. The revision has the ids of their versions, because an approval
 * is for a text: a version never changes, but another one may become the default, or another skill get the name. */
static json_t *init(const struct tool_context *context)
{
    json_t *names = json_array();
    json_t *ids = json_array();
    size_t i;
    json_t *skill;

    json_array_foreach (context->settings->skills, i, skill) {
        const char *name = json_get_string(skill, "name", NULL);

        if (!name)
            continue;
        json_array_append_new(names, json_string(name));
        json_array_append_new(ids, json_string(skill_version_of(skill)));
    }
    if (!json_array_size(names)) {
        json_decref(names);
        json_decref(ids);
        return NULL;
    }
    return json_build("{s:{s:s, s:b, s:[s], s:{s:{s:s, s:s, s:o}, s:{s:s, s:s}}}, s:o}",
                      "parameters", "type", "object", "additionalProperties", 0, "required",
                      "name", "properties", "name", "type", "string", "description",
                      "The name of the skill.", "enum", names, "file", "type", "string",
                      "description", FILE_DESCRIPTION, "revision", ids);
}

/* Reading may need an approval, for this skill and no other. */
static enum err_code plan(struct tool_call *call, struct err *err)
{
    const char *name = json_get_string(tool_call_args(call), "name", "");
    const json_t *skill = skill_find(tool_call_skills(call), name);
    const char *const patterns[] = {name, NULL};
    AUTO_FREE char *title = mem_printf("Read the skill %s", name);

    if (!json_get_bool(skill, "ask", false))
        return ERR_OK;
    return tool_call_ask(
        call,
        &(struct tool_permission){.type = "skill",
                                  .patterns = patterns,
                                  .title = title,
                                  .metadata =
                                      json_build("{s:O}", "id", json_object_get(skill, "id"))},
        err);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *name = json_get_string(tool_call_args(call), "name", "");
    const char *file = json_get_string(tool_call_args(call), "file", NULL);
    const json_t *skill = skill_find(tool_call_skills(call), name);
    AUTO_FREE char *read = NULL;
    AUTO_FREE char *text = NULL;
    enum err_code rc;

    if (!skill)
        return err_set(err, ERR_NOT_FOUND, "There is no skill '%.64s' here.", name);
    rc = tool_call_read_skill(call, skill, file, &read, err);
    if (rc)
        return rc;
    if (!file)
        text = mem_printf("# Skill: %s\n\n%s\n\n%s", name,
                          json_get_string(skill, "description", ""), read);
    tool_result_add_text(ret_result, file ? read : text);
    return ERR_OK;
}

const struct tool_handler skill_handler = {
    .name = "skill",
    .group = SKILL_GROUP,
    .description = "Reads a skill: instructions for one kind of task. The skills are listed in "
                   "the rules of the group.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_NOT_KEPT | TOOL_READ_ONLY,
    .shown_limit = CUT_NO_LIMIT,
    .run = run,
    .init = init,
    .plan = plan,
    .returns = {"string", "the instructions, as Markdown, or the file"},
};
