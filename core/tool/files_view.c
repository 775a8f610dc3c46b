#include "core/tool/files_view.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"

/*
 * files_view.c -- between OpenAI's `tool_resources` and one list of files for each tool.
 *
 * The wire groups ids by their kind: {"file_search": {"vector_store_ids": [...], "file_ids": [...]}}. A
 * handler wants one list of what it may look into. Ids say their kind by how they begin ("file", "vs"), so
 * one list is enough, and handlers need not know the shape of the wire.
 *
 * Only file_search has both kinds, stores and files: an attachment of a message names a file. In its list
 * stores stand before files. That is the order in which the wire's two lists are read, so a conversion to
 * the view and back keeps the order.
 *
 * Whether a file exists is not checked here. The form of ids is checked when a request is accepted, and the
 * tool finds out the rest.
 */

#define FILES_LIMIT  20
#define STORES_LIMIT 1

#define FILE_PREFIX  "file"
#define STORE_PREFIX "vs"

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_store(const char *tool_type, const char *id)
{
    return strcmp(tool_type, "file_search") == 0 && !starts_with(id, FILE_PREFIX);
}

static size_t count_stores(const char *tool_type, const json_t *list)
{
    size_t count = 0;

    while (count < json_array_size(list) &&
           is_store(tool_type, json_string_value(json_array_get(list, count))))
        count++;
    return count;
}

/* The list of a tool type inside the view, made if it is missing. Borrowed. */
static json_t *list_in(json_t *view, const char *tool_type)
{
    if (!json_object_get(view, tool_type))
        json_set(view, tool_type, json_build("[]"));
    return json_object_get(view, tool_type);
}

void files_view_add(json_t *view, const char *tool_type, const char *file_id)
{
    json_t *list = list_in(view, tool_type);

    if (json_array_size(list) >= FILES_VIEW_LIMIT || json_list_has(list, file_id))
        return;
    if (is_store(tool_type, file_id))
        json_array_insert_new(list, count_stores(tool_type, list), json_build("s", file_id));
    else
        json_array_append_new(list, json_build("s", file_id));
}

static void add_all(json_t *view, const char *tool_type, const json_t *ids)
{
    const json_t *id;
    size_t i;

    json_array_foreach (ids, i, id)
        if (json_is_string(id))
            files_view_add(view, tool_type, json_string_value(id));
}

json_t *files_view_from_resources(const json_t *tool_resources)
{
    json_t *view = json_build("{}");
    const char *tool_type;
    json_t *resource;

    /* The iterators of jansson 2.14 take a pointer that is not const. */
    void *at = json_object_iter((json_t *)(uintptr_t)tool_resources);
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)tool_resources, at)) {
        tool_type = json_object_iter_key(at);
        resource = json_object_iter_value(at);
        if (!json_is_object(resource))
            continue;
        list_in(view, tool_type);
        add_all(view, tool_type, json_object_get(resource, "vector_store_ids"));
        add_all(view, tool_type, json_object_get(resource, "file_ids"));
    }
    return view;
}

void files_view_add_content(json_t *view, const char *tool_type, const json_t *content)
{
    const json_t *part;
    size_t i;

    json_array_foreach (content, i, part) {
        const char *type = json_get_string(part, "type", "");
        const char *file_id = json_get_string(part, "file_id", NULL);

        if (file_id && (strcmp(type, "input_file") == 0 || strcmp(type, "input_image") == 0))
            files_view_add(view, tool_type, file_id);
    }
}

static json_t *resource_of(const char *tool_type, const json_t *list)
{
    const char *main_key =
        strcmp(tool_type, "file_search") == 0 ? "vector_store_ids" : "file_ids";
    json_t *resource = json_build("{s:[]}", main_key);
    const json_t *id;
    size_t i;

    json_array_foreach (list, i, id) {
        const char *text = json_string_value(id);
        const char *key = is_store(tool_type, text) ? "vector_store_ids" : "file_ids";

        if (!json_object_get(resource, key))
            json_set(resource, key, json_build("[]"));
        json_array_append_new(json_object_get(resource, key), json_build("s", text));
    }
    return resource;
}

json_t *files_view_to_resources(const json_t *view)
{
    json_t *resources = json_build("{}");
    void *at = json_object_iter((json_t *)(uintptr_t)view);

    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)view, at)) {
        const char *tool_type = json_object_iter_key(at);

        json_set(resources, tool_type, resource_of(tool_type, json_object_iter_value(at)));
    }
    return resources;
}

static void add_attachment(json_t *view, const json_t *attachment)
{
    const char *file_id = json_get_string(attachment, "file_id", NULL);
    const json_t *tool;
    size_t i;

    if (!file_id)
        return;
    json_array_foreach (json_object_get(attachment, "tools"), i, tool) {
        const char *type = json_get_string(tool, "type", NULL);

        if (type)
            files_view_add(view, type, file_id);
    }
}

void files_view_add_attachments(json_t *view, const json_t *attachments)
{
    const json_t *attachment;
    size_t i;

    json_array_foreach (attachments, i, attachment)
        add_attachment(view, attachment);
}

const json_t *files_view_of(const json_t *view, const char *tool_type)
{
    return json_object_get(view, tool_type);
}

/* ---- Checking: the sentences are OpenAI's ---- */

static enum err_code wrong_type(struct err *err, const char *path, const char *expected,
                                const json_t *value)
{
    return err_refuse(err, ERR_INVALID, REASON_BAD_TYPE, path,
                      "Invalid type for '%s': expected %s, but got %s instead.", path, expected,
                      json_kind(value));
}

static enum err_code too_long(struct err *err, const char *path, size_t limit, size_t length)
{
    return err_refuse(err, ERR_INVALID, REASON_LIST_TOO_LONG, path,
                      "Invalid '%s': array too long. Expected an array with maximum length "
                      "%zu, but got an array with length %zu instead.",
                      path, limit, length);
}

struct list_rule {
    const char *key;
    const char *prefix; /* NULL: the items are objects */
    size_t limit;
};

/* clang-format off */
static const struct list_rule list_rules[] = {
    {"file_ids",         FILE_PREFIX,  FILES_LIMIT},
    {"vector_store_ids", STORE_PREFIX, STORES_LIMIT},
    {"vector_stores",    NULL,         STORES_LIMIT},
};
/* clang-format on */

static enum err_code check_item(const struct list_rule *rule, const char *path,
                                const json_t *item, struct err *err)
{
    if (!rule->prefix)
        return json_is_object(item) ? ERR_OK : wrong_type(err, path, "an object", item);
    if (!json_is_string(item))
        return wrong_type(err, path, "a string", item);
    if (!starts_with(json_string_value(item), rule->prefix))
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, path,
                          "Invalid '%s': '%.64s'. Expected an ID that begins with '%s'.", path,
                          json_string_value(item), rule->prefix);
    return ERR_OK;
}

static enum err_code check_list(const struct list_rule *rule, const char *prefix,
                                const json_t *list, struct err *err)
{
    char path[160];
    const json_t *item;
    size_t i;

    (void)snprintf(path, sizeof(path), "%s.%s", prefix, rule->key);
    if (json_absent(list))
        return ERR_OK;
    if (!json_is_array(list))
        return wrong_type(err, path, "an array", list);
    if (json_array_size(list) > rule->limit)
        return too_long(err, path, rule->limit, json_array_size(list));
    json_array_foreach (list, i, item) {
        enum err_code rc;

        (void)snprintf(path, sizeof(path), "%s.%s[%zu]", prefix, rule->key, i);
        rc = check_item(rule, path, item, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_resource(const char *prefix, const json_t *resource, struct err *err)
{
    if (json_absent(resource))
        return ERR_OK;
    if (!json_is_object(resource))
        return wrong_type(err, prefix, "an object", resource);
    for (size_t i = 0; i < COUNT_OF(list_rules); i++) {
        const struct list_rule *rule = &list_rules[i];
        enum err_code rc = check_list(rule, prefix, json_object_get(resource, rule->key), err);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

enum err_code files_view_check_resources(const json_t *tool_resources, const char *param,
                                         struct err *err)
{
    void *at;

    if (json_absent(tool_resources))
        return ERR_OK;
    if (!json_is_object(tool_resources))
        return wrong_type(err, param, "an object", tool_resources);
    at = json_object_iter((json_t *)(uintptr_t)tool_resources);
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)tool_resources, at)) {
        char path[80];
        enum err_code rc;

        (void)snprintf(path, sizeof(path), "%s.%.48s", param, json_object_iter_key(at));
        rc = check_resource(path, json_object_iter_value(at), err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}
