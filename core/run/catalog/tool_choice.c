/*
 * `tool_choice`: resolved against the tools of the run.
 *
 * An upstream knows functions only. So a choice of anything else is translated: one tool
 * becomes the function that stands for it, a server without a tool becomes "required" with only
 * its tools offered, and allowed_tools becomes its mode. What the model calls is checked by
 * tool_choice_offers() (run_calls.c), because a model may call a tool that it saw in an earlier
 * turn, or one that it may not call now.
 *
 * With "none" nothing may be called, and with allowed_tools only some tools. All are sent all
 * the same (tool_choice_lists()). The list stands at the beginning of the prompt, and an
 * upstream's cache is lost when it changes. Allowed tools exist for that: who wants a shorter
 * list sends one.
 *
 * The tools of a remote server may not be listed yet when the request is checked. Its choice is
 * accepted then (tool_set_awaits()), and left out for the upstream if the server turns out to
 * have no such tool.
 */

#include "core/run/catalog/tool_choice.h"

#include <string.h>

#include "core/base/json.h"
#include "core/run/catalog/programmatic.h"
#include "core/run/catalog/unavailable.h"
#include "core/tool/registry.h"

/* The name in a choice of one tool, as either API writes it; NULL: it has no name. */
static const char *chosen_name(const json_t *choice)
{
    const char *name = json_get_string(choice, "name", NULL);

    return name ? name : json_get_string(json_object_get(choice, "function"), "name", NULL);
}

/* Some types have another name in a tool_choice, and some tools have several types: any of them means the tool. */
static bool is_of_type(const struct tool_use *use, const char *type)
{
    const char *alias = use->handler->alias;

    return strcmp(type, use->type) == 0 || (alias && strcmp(type, alias) == 0) ||
           (use->handler->more_types && tool_registry_has_type(use->handler, type));
}

/* An entry of a choice, or of its allowed_tools, means this tool: by its type, and by the
 * name, namespace or server label if the entry has one. */
static bool means(const json_t *choice, const struct tool_use *use)
{
    const char *name = chosen_name(choice);
    const char *type = json_get_string(choice, "type", "");
    const char *label = json_get_string(choice, "server_label", NULL);

    if (!tool_use_is_direct(use))
        return false;
    if (strcmp(type, "namespace") == 0)
        return use->space && name && strcmp(use->space, name) == 0;
    if (!is_of_type(use, type))
        return false;
    if (name && strcmp(name, use->own) != 0 && strcmp(name, use->name) != 0 &&
        !(use->original && strcmp(name, use->original) == 0))
        return false;
    return !label || (use->label && strcmp(label, use->label) == 0);
}

static bool is_allowed_tools(const json_t *choice)
{
    return strcmp(json_get_string(choice, "type", ""), "allowed_tools") == 0;
}

/* Any tool of a server. */
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

/* Implied tools (the readers of variables) are offered if the choice offers any tool that
 * they serve. Not if the model must call one of some tools: then it could call the reader
 * instead. */
static bool offers_implied(const struct tool_set *set, const json_t *choice)
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
        return offers_implied(set, choice);
    if ((use->deferred && set->searched) || !tool_use_is_direct(use))
        return false;
    if (json_is_string(choice))
        return strcmp(json_string_value(choice), "none") != 0;
    if (is_any_of_server(choice))
        return means(choice, use);
    return !is_allowed_tools(choice) || is_allowed(choice, use);
}

bool tool_choice_lists(const struct tool_set *set, const json_t *choice,
                       const struct tool_use *use)
{
    bool narrows = json_is_object(choice) && !is_allowed_tools(choice);

    return tool_choice_offers(set, narrows ? choice : NULL, use);
}

static enum err_code not_found(const json_t *choice, struct err *err)
{
    const char *name = chosen_name(choice);

    if (!name)
        name = json_get_string(choice, "server_label", json_get_string(choice, "type", ""));
    return err_refuse(err, ERR_INVALID, REASON_UNSET, "tool_choice",
                      "Tool choice '%s' not found in 'tools' parameter.", name);
}

/* The first entry of the request that was left out, of a type or (NULL) of any; or NULL. */
static const json_t *find_left_out(const struct tool_set *set, const char *type,
                                   size_t *ret_index)
{
    size_t i;
    json_t *entry;

    json_array_foreach (json_array_get(set->tools, 0), i, entry) {
        if ((type && strcmp(json_get_string(entry, "type", ""), type) != 0) ||
            !unavailable_reason(set->settings, entry))
            continue;
        *ret_index = i;
        return entry;
    }
    return NULL;
}

/* No tool meets the choice. If one was left out that would, the refusal says so. */
static enum err_code refuse(const struct tool_set *set, const json_t *choice, struct err *err)
{
    size_t index = 0;
    const json_t *entry = find_left_out(set, json_get_string(choice, "type", ""), &index);

    return entry ? unavailable_tool_refuse(set->settings, entry, index, err)
                 : not_found(choice, err);
}

static enum err_code check_required(const struct tool_set *set, struct err *err)
{
    size_t index = 0;
    const json_t *entry = find_left_out(set, NULL, &index);

    if (set->count || set->server_count)
        return ERR_OK;
    if (entry)
        return unavailable_tool_refuse(set->settings, entry, index, err);
    return err_refuse(err, ERR_INVALID, REASON_UNSET, "tool_choice",
                      "Tool choice 'required' must be specified with 'tools' parameter.");
}

/* The model may call any of the allowed tools, so it can do without some, but not without all. */
static enum err_code check_allowed(const struct tool_set *set, const json_t *choice,
                                   struct err *err)
{
    const json_t *lacking = NULL;
    size_t found = 0;
    size_t i, index;
    json_t *entry;

    json_array_foreach (json_object_get(choice, "tools"), i, entry) {
        if (find_meant(set, entry) || tool_set_awaits(set, entry))
            found++;
        else if (!find_left_out(set, json_get_string(entry, "type", ""), &index))
            return not_found(entry, err);
        else if (!lacking)
            lacking = entry;
    }
    return lacking && !found ? refuse(set, lacking, err) : ERR_OK;
}

enum err_code tool_choice_check(const struct tool_set *set, const json_t *choice,
                                struct err *err)
{
    if (json_is_string(choice))
        return strcmp(json_string_value(choice), "required") == 0 ? check_required(set, err)
                                                                  : ERR_OK;
    if (!json_is_object(choice))
        return ERR_OK;
    if (is_allowed_tools(choice))
        return check_allowed(set, choice, err);
    if (find_meant(set, choice) || tool_set_awaits(set, choice))
        return ERR_OK;
    return refuse(set, choice, err);
}

static bool is_none(const json_t *choice)
{
    return json_is_string(choice) && strcmp(json_string_value(choice), "none") == 0;
}

const json_t *tool_choice_standing(const json_t *choice)
{
    return is_none(choice) || is_allowed_tools(choice) ? choice : NULL;
}

/* "auto" is the default of every upstream. */
static json_t *upstream_keyword(const char *keyword)
{
    return strcmp(keyword, "auto") == 0 ? NULL : json_string(keyword);
}

/* The only tool that the choice allows; NULL: there are several. */
static const struct tool_use *find_only_allowed(const struct tool_set *set,
                                                const json_t *choice)
{
    const struct tool_use *only = NULL;

    for (size_t i = 0; i < set->count; i++) {
        if (!tool_choice_offers(set, choice, &set->uses[i]))
            continue;
        if (only)
            return NULL;
        only = &set->uses[i];
    }
    return only;
}

static json_t *upstream_function(const struct tool_use *use)
{
    if (use->passed)
        return json_build("{s:s}", "type", use->type);
    return json_build("{s:s, s:{s:s}}", "type", "function", "function", "name", use->name);
}

/* An upstream can require a call of one tool, or of any tool, but not of one of some. */
static json_t *upstream_allowed(const struct tool_set *set, const json_t *choice)
{
    const char *mode = json_get_string(choice, "mode", "auto");
    const struct tool_use *only = find_only_allowed(set, choice);

    if (only && strcmp(mode, "required") == 0)
        return upstream_function(only);
    return upstream_keyword(mode);
}

json_t *tool_choice_upstream(const struct tool_set *set, const json_t *choice)
{
    const struct tool_use *use;

    if (!set->count && set->server_count)
        return NULL; /* its servers have no tools, and OpenAI refuses a choice without tools */
    if (json_is_string(choice))
        return upstream_keyword(json_string_value(choice));
    if (!json_is_object(choice))
        return NULL;
    if (is_allowed_tools(choice))
        return upstream_allowed(set, choice);
    use = find_meant(set, choice);
    if (!use && tool_set_awaits(set, choice))
        return NULL;
    if (!use || is_any_of_server(choice))
        return json_string("required");
    return upstream_function(use);
}
