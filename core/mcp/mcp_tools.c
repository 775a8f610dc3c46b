/*
 * mcp_tools.c -- checks and shortens the tools that a server lists.
 *
 * What a stranger writes here is read by a model as instructions, and by a person as the thing to approve.
 * Three kinds of attack are closed. Characters that are invisible or reverse the order of others are
 * removed: a person must see what the model reads. Names are visible ASCII, so that two tools that look
 * alike are alike. Sizes are limited, because the list is sent with every request to the model.
 *
 * A tool with another name is renamed, always to the same name, and the list says how the server calls it.
 * A tool without a name or a usable schema is left out and the rest is kept: one bad schema of a server must
 * not disable all of its tools. But a list that is too large as a whole is an error. A part of it would be
 * arbitrary.
 *
 * A model sees one flat list of functions, so a tool is named "<label>__<tool>". Names of servers and tools
 * may have characters and lengths that upstreams refuse. Such a name is changed and gets a hash of both
 * originals, so different tools keep different names, in every request the same.
 */

#include "core/mcp/mcp_tools.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/mcp/mcp_header.h"

#define HASH_SUFFIX ((size_t)9) /* "_" and eight digits */

/* ---- Descriptions and names ---- */

/* Characters that are invisible, or reverse the order of others: U+200B-200F, U+202A-202E,
 * U+2060-206F, U+FEFF and the tags of U+E0000. `at` points to a whole character. */
static bool is_hidden(const unsigned char *at)
{
    if (at[0] == 0xE2 && at[1] == 0x80)
        return (at[2] >= 0x8B && at[2] <= 0x8F) || (at[2] >= 0xAA && at[2] <= 0xAE);
    if (at[0] == 0xE2 && at[1] == 0x81)
        return at[2] >= 0xA0 && at[2] <= 0xAF;
    if (at[0] == 0xEF && at[1] == 0xBB)
        return at[2] == 0xBF;
    return at[0] == 0xF3 && at[1] == 0xA0 && (at[2] == 0x80 || at[2] == 0x81);
}

static size_t character_size(unsigned char first)
{
    if (first < 0x80)
        return 1;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static bool is_control(unsigned char byte)
{
    return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
}

char *mcp_clean_description(const char *text)
{
    AUTO_FREE char *valid = json_clean_utf8(text, strlen(text));
    AUTO_BUF clean = {0};
    size_t size;

    for (const char *at = valid; *at; at += size) {
        size = character_size((unsigned char)*at);
        if (clean.length + size > MCP_DESCRIPTION_LIMIT)
            break;
        if (!is_control((unsigned char)*at) && !is_hidden((const unsigned char *)at))
            buf_add(&clean, at, size);
    }
    return buf_take(&clean);
}

bool mcp_name_is_fit(const char *name)
{
    size_t length = strlen(name);

    if (!length || length > MCP_NAME_LIMIT)
        return false;
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7F)
            return false;
    }
    return true;
}

/* Visible ASCII of a name that has none: each other byte becomes "_". A hash of the name keeps apart what
 * looks alike then. The caller frees. */
static char *fit_name(const char *name)
{
    AUTO_FREE char *visible = mem_strndup(name, strnlen(name, MCP_NAME_LIMIT - HASH_SUFFIX));

    for (char *at = visible; *at; at++) {
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7F)
            *at = '_';
    }
    return mem_printf("%s_%08x", visible, hash_text(name));
}

/* ---- One tool ---- */

static bool is_flat(const json_t *value, int depth)
{
    const char *key;
    size_t i;
    json_t *member;

    if (depth == 0 && (json_is_object(value) || json_is_array(value)))
        return false;
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        if (!is_flat(member, depth - 1))
            return false;
    }
    json_array_foreach (value, i, member) {
        if (!is_flat(member, depth - 1))
            return false;
    }
    return true;
}

bool mcp_schema_is_fit(const json_t *schema)
{
    AUTO_FREE char *text = NULL;

    if (!json_is_object(schema) || !is_flat(schema, MCP_SCHEMA_DEPTH))
        return false;
    text = json_text(schema);
    return strlen(text) <= MCP_SCHEMA_LIMIT;
}

/* The annotations that MCP defines, with their types: booleans, and a title, which newer servers have beside
 * the annotations. */
static json_t *annotations_of(const json_t *tool)
{
    static const char *const hints[] = {"readOnlyHint", "destructiveHint", "idempotentHint",
                                        "openWorldHint"};
    const json_t *given = json_object_get(tool, "annotations");
    const char *title = json_get_string(tool, "title", json_get_string(given, "title", NULL));
    json_t *kept = json_object();

    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        json_t *hint = json_object_get(given, hints[i]);

        if (json_is_boolean(hint))
            json_object_set(kept, hints[i], hint);
    }
    if (title) {
        AUTO_FREE char *clean = mcp_clean_description(title);

        json_set_string(kept, "title", clean);
    }
    if (json_object_size(kept))
        return kept;
    json_decref(kept);
    return json_null();
}

bool mcp_tools_have(const json_t *tools, const char *name)
{
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        if (strcmp(json_get_string(tool, "name", ""), name) == 0)
            return true;
    }
    return false;
}

/* A list may come from a client. A person who approves a call sees the listed name, so no other
 * tool may hide behind it. */
const char *mcp_tool_original_name(const json_t *tool)
{
    const char *original = json_get_string(notes_of(tool), "original_name", NULL);
    AUTO_FREE char *fit = NULL;

    if (!original || mcp_name_is_fit(original))
        return NULL;
    fit = fit_name(original);
    return strcmp(fit, json_get_string(tool, "name", "")) == 0 ? original : NULL;
}

static json_t *read_tool(const json_t *given)
{
    const char *name = json_get_string(given, "name", NULL);
    AUTO_FREE char *description =
        mcp_clean_description(json_get_string(given, "description", ""));
    json_t *schema = json_object_get(given, "inputSchema");
    AUTO_FREE char *fit = NULL;
    json_t *tool;

    if (!name || !mcp_schema_is_fit(schema) || !mcp_marks_are_fit(schema))
        return NULL;
    fit = mcp_name_is_fit(name) ? mem_strdup(name) : fit_name(name);
    tool = json_build("{s:s, s:s, s:O, s:o}", "name", fit, "description", description,
                      "input_schema", schema, "annotations", annotations_of(given));
    if (strcmp(fit, name) != 0)
        json_set(tool, "runnel", json_build("{s:s}", "original_name", name));
    return tool;
}

/* The whole list is stored, shown to clients and sent to the model. */
static enum err_code check_size(const json_t *tools, struct err *err)
{
    AUTO_FREE char *text = json_text(tools);

    if (strlen(text) <= MCP_LIST_LIMIT)
        return ERR_OK;
    return err_set(err, ERR_LIMIT, "its list of tools is larger than %zu bytes",
                   MCP_LIST_LIMIT);
}

enum err_code mcp_tools_add_page(json_t *tools, const json_t *page, struct err *err)
{
    const json_t *list = json_object_get(page, "tools");
    size_t i;
    json_t *given;

    if (!json_is_array(list))
        return err_set(err, ERR_UPSTREAM, "its list of tools is no list");
    json_array_foreach (list, i, given) {
        json_t *tool = read_tool(given);

        if (!tool)
            continue;
        if (mcp_tools_have(tools, json_get_string(tool, "name", ""))) {
            json_decref(tool);
            continue;
        }
        if (json_array_size(tools) == MCP_TOOL_LIMIT) {
            json_decref(tool);
            return err_set(err, ERR_LIMIT, "it lists more than %zu tools", MCP_TOOL_LIMIT);
        }
        json_array_append_new(tools, tool);
    }
    return check_size(tools, err);
}

/* ---- Allowed tools ---- */

bool mcp_tool_is_read_only(const json_t *tool)
{
    return json_get_bool(json_object_get(tool, "annotations"), "readOnlyHint", false);
}

static bool is_allowed(const json_t *tool, const json_t *allowed)
{
    const json_t *names =
        json_is_object(allowed) ? json_object_get(allowed, "tool_names") : allowed;
    const json_t *read_only = json_object_get(allowed, "read_only");

    const char *original = mcp_tool_original_name(tool);

    if (json_is_array(names) && !json_list_has(names, json_get_string(tool, "name", "")) &&
        !(original && json_list_has(names, original)))
        return false;
    return !json_is_boolean(read_only) ||
           json_is_true(read_only) == mcp_tool_is_read_only(tool);
}

json_t *mcp_tools_allowed(const json_t *tools, const json_t *allowed)
{
    json_t *kept = json_array();
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        if (is_allowed(tool, allowed))
            json_array_append(kept, tool);
    }
    return kept;
}

/* ---- Names for the model ---- */

static uint32_t hash_of(const char *label, const char *tool)
{
    return hash_add(hash_byte(hash_text(label), 0xFF), tool);
}

static bool make_plain(char *name)
{
    bool plain = true;

    for (; *name; name++) {
        if (isalnum((unsigned char)*name) || *name == '_' || *name == '-')
            continue;
        *name = '_';
        plain = false;
    }
    return plain;
}

/* A name that had to be changed or cut could equal another's, so a hash is added. */
char *mcp_function_name(const char *label, const char *tool)
{
    char *name = mem_printf("%s__%s", label, tool);
    bool plain = make_plain(name);
    size_t length = strlen(name);
    char *longer;

    if (plain && length <= MCP_FUNCTION_LIMIT)
        return name;
    if (length > MCP_FUNCTION_LIMIT - HASH_SUFFIX)
        name[MCP_FUNCTION_LIMIT - HASH_SUFFIX] = '\0';
    longer = mem_printf("%s_%08x", name, hash_of(label, tool));
    free(name);
    return longer;
}
