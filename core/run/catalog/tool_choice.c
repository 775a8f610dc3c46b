#include "core/run/catalog/tool_choice.h"

#include <string.h>

#include "core/base/json.h"

/* The name that a tool_choice singles out, in either API's words; NULL when it names none. */
static const char *chosen_name(const json_t *choice)
{
    const char *name = json_get_string(choice, "name", NULL);

    return name ? name : json_get_string(json_object_get(choice, "function"), "name", NULL);
}

/* Some have another name there. */
static bool is_of_type(const struct tool_use *use, const char *type)
{
    const char *alias = use->handler->alias;

    return strcmp(type, use->type) == 0 || (alias && strcmp(type, alias) == 0);
}

/* Whether one tool of a choice, or of its allowed_tools, is this one: by type, and by its name,
 * its namespace or its server's label where those are given. */
static bool means(const json_t *choice, const struct tool_use *use)
{
    const char *name = chosen_name(choice);
    const char *type = json_get_string(choice, "type", "");
    const char *label = json_get_string(choice, "server_label", NULL);

    if (strcmp(type, "namespace") == 0)
        return use->space && name && strcmp(use->space, name) == 0;
    if (!is_of_type(use, type))
        return false;
    if (name && strcmp(name, use->own) != 0 && strcmp(name, use->name) != 0)
        return false;
    return !label || (use->label && strcmp(label, use->label) == 0);
}

static bool is_allowed_tools(const json_t *choice)
{
    return strcmp(json_get_string(choice, "type", ""), "allowed_tools") == 0;
}

/* Any tool of one server. */
static bool is_any_of_server(const json_t *choice)
{
    return strcmp(json_get_string(choice, "type", ""), "mcp") == 0 && !chosen_name(choice);
}

static const struct tool_use *find_meant(const struct tool_set *set, const json_t *choice)
{
    for (size_t i = 0; i < set->count; i++) {
        if (means(choice, &set->uses[i]))
            return &set->uses[i];
    }
    return NULL;
}

static bool is_allowed(const json_t *choice, const struct tool_use *use)
{
    size_t i;
    json_t *entry;

    json_array_foreach (json_object_get(choice, "tools"), i, entry) {
        if (means(entry, use))
            return true;
    }
    return false;
}

/* With any of those that it comes along with, unless the model has to call one of some. */
static bool comes_along(const struct tool_set *set, const json_t *choice)
{
    if (is_any_of_server(choice) ||
        strcmp(json_get_string(choice, "mode", "auto"), "auto") != 0)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        const struct tool_use *use = &set->uses[i];

        if (use->label && !use->implied && tool_choice_offers(set, choice, use))
            return true;
    }
    return false;
}

bool tool_choice_offers(const struct tool_set *set, const json_t *choice,
                        const struct tool_use *use)
{
    if (use->implied)
        return comes_along(set, choice);
    if (use->deferred && set->searched)
        return false;
    if (json_is_string(choice))
        return strcmp(json_string_value(choice), "none") != 0;
    if (is_any_of_server(choice))
        return means(choice, use);
    return !is_allowed_tools(choice) || is_allowed(choice, use);
}

static enum err_code not_found(const json_t *choice, struct err *err)
{
    const char *name = chosen_name(choice);

    if (!name)
        name = json_get_string(choice, "server_label", json_get_string(choice, "type", ""));
    return err_refuse(err, ERR_INVALID, REASON_UNSET, "tool_choice",
                      "Tool choice '%s' not found in 'tools' parameter.", name);
}

static enum err_code check_allowed(const struct tool_set *set, const json_t *choice,
                                   struct err *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach (json_object_get(choice, "tools"), i, entry) {
        if (!find_meant(set, entry) && !tool_set_awaits(set, entry))
            return not_found(entry, err);
    }
    return ERR_OK;
}

enum err_code tool_choice_check(const struct tool_set *set, const json_t *choice,
                                struct err *err)
{
    if (json_is_string(choice)) {
        if (strcmp(json_string_value(choice), "required") != 0 || set->count ||
            set->server_count)
            return ERR_OK;
        return err_refuse(err, ERR_INVALID, REASON_UNSET, "tool_choice",
                          "Tool choice 'required' must be specified with 'tools' parameter.");
    }
    if (!json_is_object(choice))
        return ERR_OK;
    if (is_allowed_tools(choice))
        return check_allowed(set, choice, err);
    if (find_meant(set, choice) || tool_set_awaits(set, choice))
        return ERR_OK;
    return not_found(choice, err);
}

static bool is_none(const json_t *choice)
{
    return json_is_string(choice) && strcmp(json_string_value(choice), "none") == 0;
}

const json_t *tool_choice_standing(const json_t *choice)
{
    return is_none(choice) || is_allowed_tools(choice) ? choice : NULL;
}

/* "auto" is what an upstream does by itself. */
static json_t *upstream_word(const char *word)
{
    return strcmp(word, "auto") == 0 ? NULL : json_string(word);
}

json_t *tool_choice_upstream(const struct tool_set *set, const json_t *choice)
{
    const struct tool_use *use;

    if (!set->count && set->server_count)
        return NULL; /* the servers that were to have tools have none */
    if (json_is_string(choice))
        return upstream_word(json_string_value(choice));
    if (!json_is_object(choice))
        return NULL;
    if (is_allowed_tools(choice))
        return upstream_word(json_get_string(choice, "mode", "auto"));
    use = find_meant(set, choice);
    if (!use && tool_set_awaits(set, choice))
        return NULL;
    if (!use || is_any_of_server(choice))
        return json_string("required");
    return json_build("{s:s, s:{s:s}}", "type", "function", "function", "name", use->name);
}
