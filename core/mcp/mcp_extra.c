/*
 * mcp_extra.c -- resources and prompts of a server become four ordinary tools.
 *
 * In MCP resources are for the application to choose, and prompts for its user. This server has neither: it
 * has a model. If the server put resources into the context, a stranger's text would reach the model
 * without an approval. As tools they pass what every call passes: allowed tools, approvals, cutting, limits
 * and secrets. None of that code knows of them. Only the method and the form of the answer differ, and both
 * are converted here.
 *
 * Lists may be long. They are read page by page up to MCP_ENTRY_LIMIT entries, and "more" shows the model
 * that others exist. An entry whose name or URI has hidden characters is left out, since the model
 * would send back something else than the server has listed.
 *
 * An added tool carries its method as a note. A server may have a tool of its own called read_resource;
 * without the note, a list that is read from the store could not tell which of the two it has.
 */

#include "core/mcp/mcp_extra.h"

#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/mcp/mcp_result.h"
#include "core/mcp/mcp_tools.h"

/* ---- Entries of a list ---- */

static void add_clean(json_t *entry, const json_t *given, const char *key)
{
    const char *text = json_get_string(given, key, NULL);
    AUTO_FREE char *clean = text ? mcp_clean_description(text) : NULL;

    if (clean && *clean)
        json_set_string(entry, key, clean);
}

/* The name or URI goes back to the server. NULL when it is invalid: the entry is left out. */
static json_t *new_entry(const json_t *given, const char *key)
{
    const char *id = json_get_string(given, key, "");
    AUTO_FREE char *clean = mcp_clean_description(id);

    if (!*id || strlen(id) > MCP_ID_LIMIT || strcmp(clean, id) != 0)
        return NULL;
    return json_build("{s:s}", key, id);
}

static json_t *read_described(const json_t *given, const char *key)
{
    json_t *entry = new_entry(given, key);

    if (!entry)
        return NULL;
    if (strcmp(key, "name") != 0)
        add_clean(entry, given, "name");
    add_clean(entry, given, "description");
    return entry;
}

static json_t *read_resource(const json_t *given)
{
    json_t *entry = read_described(given, "uri");

    if (entry)
        add_clean(entry, given, "mimeType");
    return entry;
}

static json_t *read_template(const json_t *given)
{
    json_t *entry = read_described(given, "uriTemplate");

    if (entry)
        add_clean(entry, given, "mimeType");
    return entry;
}

static json_t *read_argument(const json_t *given)
{
    json_t *entry = read_described(given, "name");

    if (entry)
        json_set_bool(entry, "required", json_get_bool(given, "required", false));
    return entry;
}

static json_t *read_prompt(const json_t *given)
{
    json_t *entry = read_described(given, "name");
    json_t *arguments = json_array();
    size_t i;
    json_t *argument;

    json_array_foreach (json_object_get(given, "arguments"), i, argument) {
        json_t *one = read_argument(argument);

        if (one)
            json_array_append_new(arguments, one);
    }
    if (entry && json_array_size(arguments))
        json_object_set(entry, "arguments", arguments);
    json_decref(arguments);
    return entry;
}

/* ---- Lists ---- */

static size_t count_entries(const json_t *gathered)
{
    const char *key;
    json_t *list;
    size_t count = 0;

    json_object_foreach ((json_t *)(uintptr_t)gathered, key, list)
        count += json_array_size(list);
    return count;
}

static json_t *list_of(json_t *gathered, const char *key)
{
    if (!json_object_get(gathered, key))
        json_set(gathered, key, json_array());
    return json_object_get(gathered, key);
}

enum err_code mcp_listing_add(const struct mcp_listing *listing, json_t *gathered,
                              const json_t *page, struct err *err)
{
    const json_t *given = json_object_get(page, listing->key);
    json_t *list = list_of(gathered, listing->key);
    size_t room = MCP_ENTRY_LIMIT - count_entries(gathered);
    AUTO_FREE char *text = NULL;
    size_t i;
    json_t *of;

    if (!json_is_array(given))
        return err_set(err, ERR_UPSTREAM, "its list of %s is no list", listing->key);
    json_array_foreach (given, i, of) {
        json_t *entry;

        if (!room || i >= MCP_ENTRIES_READ) {
            json_set_bool(gathered, "more", true);
            break;
        }
        entry = listing->read(of);
        if (!entry)
            continue;
        json_array_append_new(list, entry);
        room--;
    }
    text = json_text(gathered);
    if (strlen(text) <= MCP_LIST_LIMIT)
        return ERR_OK;
    return err_set(err, ERR_LIMIT, "its list of %s is larger than %zu bytes", listing->key,
                   MCP_LIST_LIMIT);
}

/* ---- Results ---- */

static void add_text(json_t *content, const char *text)
{
    json_array_append_new(content, json_build("{s:s, s:s}", "type", "text", "text", text));
}

static json_t *show_list(const json_t *given)
{
    AUTO_FREE char *text = json_text(given);
    json_t *content = json_array();

    add_text(content, text);
    return json_build("{s:o}", "content", content);
}

/* One part of the result for each entry. NULL when the list is missing or too long. */
static json_t *show_each(const json_t *list, void (*add)(json_t *content, json_t *one))
{
    json_t *content;
    size_t i;
    json_t *one;

    if (!json_is_array(list) || json_array_size(list) > MCP_CONTENT_LIMIT)
        return NULL;
    content = json_array();
    json_array_foreach (list, i, one)
        add(content, one);
    return json_build("{s:o}", "content", content);
}

/* Pictures get the form that they have in a result of tools/call, so clients see them as pictures. */
static void add_resource(json_t *content, json_t *resource)
{
    const char *type = json_get_string(resource, "mimeType", "");
    const char *blob = json_get_string(resource, "blob", NULL);
    bool is_picture = blob && strncmp(type, "image/", 6) == 0;

    json_array_append_new(content, is_picture ? json_build("{s:s, s:s, s:s}", "type", "image",
                                                           "data", blob, "mimeType", type)
                                              : json_build("{s:s, s:O}", "type", "resource",
                                                           "resource", resource));
}

static json_t *show_resource(const json_t *given)
{
    return show_each(json_object_get(given, "contents"), add_resource);
}

/* "user: ...", one text for each message of a prompt. A role that MCP does not have counts as the user. */
static void add_message(json_t *content, json_t *message)
{
    const char *given = json_get_string(message, "role", "");
    const char *role = strcmp(given, "assistant") == 0 ? given : "user";
    json_t *block = json_object_get(message, "content");
    const char *words = json_get_string(block, "text", NULL);
    AUTO_FREE char *text = words ? mem_printf("%s: %s", role, words) : mem_printf("%s:", role);

    add_text(content, text);
    if (!words && json_is_object(block))
        json_array_append(content, block);
}

static json_t *show_prompt(const json_t *given)
{
    return show_each(json_object_get(given, "messages"), add_message);
}

/* ---- The tools ---- */

/* clang-format off */
/* Templates first: they are few, and each describes many resources. */
static const struct mcp_listing resource_listings[] = {
    {"resources/templates/list", "resourceTemplates", read_template, true},
    {"resources/list",           "resources",         read_resource, false},
    {0},
};
static const struct mcp_listing prompt_listings[] = {
    {"prompts/list", "prompts", read_prompt, false},
    {0},
};

static const struct mcp_extra extras[] = {
    {"list_resources", "resources", "resources/list", resource_listings,
     "Lists the resources of this server, and the templates of URIs of further ones.",
     "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
     show_list},
    {"read_resource", "resources", "resources/read", NULL,
     "Reads a resource of this server.",
     "{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\",\"description\":"
     "\"The URI of the resource, as it is listed or made from a template.\"}},"
     "\"required\":[\"uri\"],\"additionalProperties\":false}",
     show_resource},
    {"list_prompts", "prompts", "prompts/list", prompt_listings,
     "Lists the prompts of this server, with their arguments.",
     "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
     show_list},
    {"get_prompt", "prompts", "prompts/get", NULL,
     "Gets the messages of a prompt of this server.",
     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
     "\"arguments\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}},"
     "\"required\":[\"name\"],\"additionalProperties\":false}",
     show_prompt},
};
/* clang-format on */

const json_t *mcp_extras_wanted(const json_t *entry)
{
    return json_object_get(entry, "runnel");
}

bool mcp_extra_is_wanted(const json_t *wanted, const char *capability)
{
    return json_get_bool(wanted, capability, false);
}

/* With its method as a note, which the server's own tools do not have. */
static json_t *new_tool(const struct mcp_extra *extra)
{
    return json_build("{s:s, s:s, s:o, s:{s:b}, s:{s:s}}", "name", extra->name, "description",
                      extra->description, "input_schema", json_parse_own(extra->parameters),
                      "annotations", "readOnlyHint", true, "runnel", "method", extra->method);
}

void mcp_extra_add(json_t *tools, const json_t *capabilities, const json_t *wanted)
{
    for (size_t i = 0; i < COUNT_OF(extras); i++) {
        const struct mcp_extra *extra = &extras[i];

        if (mcp_extra_is_wanted(wanted, extra->capability) &&
            json_is_object(json_object_get(capabilities, extra->capability)) &&
            !mcp_tools_have(tools, extra->name) && json_array_size(tools) < MCP_TOOL_LIMIT)
            json_array_append_new(tools, new_tool(extra));
    }
}

const struct mcp_extra *mcp_extra_of(const json_t *tool, const json_t *wanted)
{
    const char *mark = json_get_string(notes_of(tool), "method", "");
    const char *name = json_get_string(tool, "name", "");

    for (size_t i = 0; i < COUNT_OF(extras); i++) {
        if (strcmp(extras[i].method, mark) == 0 && strcmp(extras[i].name, name) == 0 &&
            mcp_extra_is_wanted(wanted, extras[i].capability))
            return &extras[i];
    }
    return NULL;
}
