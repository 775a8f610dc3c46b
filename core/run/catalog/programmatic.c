#include "core/run/catalog/programmatic.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/catalog/tool_choice.h"
#include "core/run/catalog/tool_set_internal.h"

static const json_t *callers_of(const struct tool_use *use)
{
    const json_t *callers = json_object_get(use->entry, "allowed_callers");

    return json_array_size(callers) ? callers : NULL;
}

bool tool_use_is_direct(const struct tool_use *use)
{
    const json_t *callers = callers_of(use);

    return !callers || json_list_has(callers, "direct");
}

/* What the upstream executes, no program can call. Tools that were not loaded yet do not exist for programs either. */
bool tool_use_is_programmatic(const struct tool_use *use)
{
    const json_t *callers = callers_of(use);

    return callers && json_list_has(callers, "programmatic") && !use->implied && !use->passed &&
           !(use->handler->flags & TOOL_PROGRAM);
}

/* A tool that the model may call is under the request's tool_choice, also in a program. One for programs
 * alone is where the tool that runs them is. */
static bool is_offered(const struct tool_set *set, const json_t *choice,
                       const struct tool_use *use)
{
    if (!tool_use_is_programmatic(use) || (use->deferred && set->searched))
        return false;
    return !tool_use_is_direct(use) ||
           tool_choice_offers(set, tool_choice_standing(choice), use);
}

const struct tool_use *tool_set_find_program(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].handler->flags & TOOL_PROGRAM)
            return &set->uses[i];
    }
    return NULL;
}

const struct tool_use *tool_set_find_programmatic(const struct tool_set *set,
                                                  const json_t *choice, const char *name)
{
    const struct tool_use *use = tool_set_find(set, name);

    return use && is_offered(set, choice, use) ? use : NULL;
}

json_t *tool_set_programmatic(const struct tool_set *set, const json_t *choice)
{
    json_t *names = json_array();

    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (is_offered(set, choice, use))
            json_array_append_new(
                names,
                json_build("[s, b]", use->name, (use->handler->flags & TOOL_FREE_TEXT) != 0));
    }
    return names;
}

/* A client's function has its schema in its entry. New reference, or NULL. */
static json_t *parameters_of(const struct tool_use *use)
{
    if (use->handler->flags & TOOL_AS_WRITTEN)
        return json_incref(json_object_get(tool_entry_function(use->entry), "parameters"));
    return tool_use_parameters(use);
}

static const char *description_of(const struct tool_use *use)
{
    if (use->handler->flags & TOOL_AS_WRITTEN)
        return json_get_string(tool_entry_function(use->entry), "description", "");
    return tool_use_description(use);
}

static void add_schema(struct buf *text, const char *word, const json_t *schema)
{
    if (json_absent(schema))
        return;
    buf_addf(text, "\n  %s: ", word);
    json_add_text(text, schema);
}

static void describe(struct buf *text, const struct tool_use *use)
{
    json_auto_t *parameters = parameters_of(use);
    const char *description = description_of(use);

    buf_addf(text, "\n\ntools[\"%s\"]%s%s", use->name, *description ? ": " : "", description);
    add_schema(text, "Arguments", parameters);
    add_schema(text, "Output", json_object_get(use->entry, "output_schema"));
}

char *tool_set_programmatic_text(const struct tool_set *set, const json_t *choice)
{
    AUTO_BUF text = {0};

    for (size_t i = 0; i < set->count; i++) {
        if (is_offered(set, choice, &set->uses[i]))
            describe(&text, &set->uses[i]);
    }
    return mem_printf("%s%s", text.length ? "\n\nA program may call:" : "",
                      text.data ? text.data : "");
}
