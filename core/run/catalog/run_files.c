#include "core/run/catalog/run_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/domain/item.h"
#include "core/domain/notes.h"
#include "core/tool/files_view.h"
#include "core/tool/registry.h"

/* A history may be long, so a message is parsed only if its text has the key. */
static json_t *message_with(const struct item_row *item, const char *key)
{
    if (item->type != ITEM_MESSAGE || !item->body || !strstr(item->body, key))
        return NULL;
    return json_parse_own(item->body);
}

json_t *run_files_view(const struct run_settings *settings, const struct item_row *items,
                       size_t count)
{
    json_t *view = files_view_from_resources(settings->tool_resources);

    for (size_t i = 0; i < count; i++) {
        json_auto_t *body = message_with(&items[i], "\"attachments\"");

        files_view_add_attachments(view, json_object_get(body, "attachments"));
    }
    return view;
}

void run_files_add_inputs(json_t *view, const char *type, const struct item_row *items,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_auto_t *body = message_with(&items[i], "\"file_id\"");

        files_view_add_content(view, type, json_object_get(body, "content"));
    }
}

/* ---- The container ---- */

/* A hosted tool has it in its item, another tool of this server in the metadata of its result; a remote one has no text
 * there. */
static bool used_container(const struct item_row *row, char ret_id[ID_SIZE])
{
    bool other = item_type_kind(row->type) == ITEM_KIND_SERVER_CALL;
    json_auto_t *body = NULL;
    const char *id;

    if (!item_type_is_call(row->type) || !row->body || !strstr(row->body, "\"container_id\""))
        return false;
    body = json_parse_own(row->body);
    id = other
             ? json_get_string(json_object_get(notes_of(body), "metadata"), "container_id", "")
             : item_container(body);
    if (!*id || strlen(id) >= ID_SIZE)
        return false;
    (void)snprintf(ret_id, ID_SIZE, "%s", id);
    return true;
}

void run_files_past_container(const struct item_row *items, size_t count, char ret_id[ID_SIZE])
{
    *ret_id = '\0';
    while (count > 0) {
        if (used_container(&items[--count], ret_id))
            return;
    }
}

const json_t *run_wanted_container(const json_t *tool, const char **ret_member)
{
    const json_t *container = json_object_get(tool, "container");
    const json_t *environment = json_object_get(tool, "environment");
    const char *type = json_get_string(environment, "type", "");

    *ret_member = json_absent(container) ? "environment" : "container";
    if (!json_absent(container))
        return container;
    if (strcmp(type, "container_reference") == 0)
        return json_object_get(environment, "container_id");
    return strcmp(type, "container_auto") == 0 ? environment : NULL;
}

const char *run_container_of(const json_t *wanted)
{
    return json_is_string(wanted) ? json_string_value(wanted)
                                  : json_get_string(wanted, "container_id", NULL);
}

static bool has_container(const json_t *entry)
{
    const struct tool_handler *handler = tool_registry_serving(entry);

    return handler && handler->flags & TOOL_NEEDS_SANDBOX && !tool_registry_lacks(handler);
}

bool run_files_need_container(const struct run_settings *settings)
{
    size_t i;
    json_t *entry;

    json_array_foreach (settings->tools, i, entry) {
        if (has_container(entry))
            return true;
    }
    return false;
}

const json_t *run_shared_container(const struct run_settings *settings, const json_t *entry)
{
    const char *member;
    const json_t *wanted = run_wanted_container(entry, &member);
    size_t i;
    json_t *other;

    json_array_foreach (settings->tools, i, other) {
        if (wanted)
            break;
        if (has_container(other))
            wanted = run_wanted_container(other, &member);
    }
    return wanted;
}

static void add_all(json_t *view, const json_t *ids)
{
    size_t i;
    json_t *id;

    json_array_foreach (ids, i, id)
        if (json_is_string(id))
            files_view_add(view, "container", json_string_value(id));
}

json_t *run_files_of_container(const struct run_settings *settings, enum row_face face,
                               const struct item_row *items, size_t count,
                               const char **ret_named)
{
    json_auto_t *all = json_object();
    json_auto_t *view = NULL;
    const json_t *ids;
    size_t i;
    json_t *entry;

    *ret_named = NULL;
    json_array_foreach (settings->tools, i, entry) {
        const char *type = json_get_string(entry, "type", "");
        const char *member;
        const json_t *wanted;

        if (!has_container(entry))
            continue;
        if (!view)
            view = run_files_view(settings, items, count);
        if (face != FACE_ASSISTANTS)
            run_files_add_inputs(view, type, items, count);
        wanted = run_wanted_container(entry, &member);
        if (!*ret_named)
            *ret_named = run_container_of(wanted);
        add_all(all, json_object_get(wanted, "file_ids"));
        add_all(all, files_view_of(view, type));
    }
    ids = files_view_of(all, "container");
    return ids ? json_incref((json_t *)(uintptr_t)ids) : json_array();
}
