#include "server/params/assistants/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/threads/threads.h"
#include "core/tool/files_view.h"
#include "server/complaint.h"
#include "server/params/params.h"
#include "server/params/runnel_params.h"

/*
 * Messages come in the shape of the Assistants API and are stored in that of the Responses API.
 *
 * Threads and conversations are one table, and a run of either API may read what the other has
 * written. So there is one stored shape, and the Responses shape is the richer one: it has
 * files within messages and more kinds of annotations. The reverse choice would lose them. encode.c
 * translates back when a thread is read, and leaves out what has no Assistants shape.
 *
 *   Assistants                              stored
 *   "content": "Hi"                         [{"type": "input_text", "text": "Hi"}]
 *   {"type": "text", "text": "Hi"}          {"type": "input_text"} or, by the assistant, "output_text"
 *   {"type": "image_url", "image_url": {}}  {"type": "input_image", "image_url": url, "detail"}
 *   {"type": "image_file", ...}             {"type": "input_image", "file_id", "detail"}
 *
 * Attachments have no counterpart. They stay in the body under their own key, and only Assistants
 * shows them.
 *
 * Ids and times are made here, before the transaction that stores the rows.
 */

/* One part of a message's content, as the client sent it. */
struct part {
    const json_t *json;
    const char *path;
    const char *role;
};

static bool is_assistant(const char *role)
{
    return strcmp(role, "assistant") == 0;
}

/* Text of the assistant always has both lists in the Responses API, also when they are empty. */
static json_t *text_part(const char *role, const char *text)
{
    if (is_assistant(role))
        return json_build("{s:s, s:[], s:[], s:s}", "type", "output_text", "annotations",
                          "logprobs", "text", text);
    return json_build("{s:s, s:s}", "type", "input_text", "text", text);
}

static enum err_code decode_text(const struct part *part, json_t **ret_part, struct err *err)
{
    const char *text = NULL;
    enum err_code rc = param_string(part->json, part->path, "text", PARAM_REQUIRED,
                                    MESSAGE_TEXT_LIMIT, &text, err);

    if (rc)
        return rc;
    *ret_part = text_part(part->role, text);
    return ERR_OK;
}

static enum err_code decode_detail(const json_t *image, const char *path,
                                   const char **ret_detail, struct err *err)
{
    static const char *const details[] = {"auto", "low", "high", NULL};

    *ret_detail = details[0];
    return param_enum(image, path, "detail", PARAM_OPTIONAL, details, ret_detail, err);
}

/* A sanity check, not a parser: the upstream fetches the URL, this server does not. */
static bool is_image_url(const char *url)
{
    static const char *const starts[] = {"http://", "https://", "data:image/"};

    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncmp(url, starts[i], strlen(starts[i])) == 0 && url[strlen(starts[i])])
            return true;
    return false;
}

static enum err_code decode_image_url(const struct part *part, json_t **ret_part,
                                      struct err *err)
{
    struct param_path path = param_key(part->path, "image_url");
    struct param_path url_path = param_key(path.text, "url");
    json_t *image = NULL;
    const char *url = NULL;
    const char *detail = NULL;
    enum err_code rc;

    rc = param_object(part->json, part->path, "image_url", PARAM_REQUIRED, &image, err);
    if (!rc)
        rc = param_string(image, path.text, "url", PARAM_REQUIRED, 0, &url, err);
    if (!rc)
        rc = decode_detail(image, path.text, &detail, err);
    if (rc)
        return rc;
    if (!is_image_url(url))
        return err_invalid(
            err, "invalid_value", url_path.text,
            "Invalid '%s'. Expected a valid URL, but got a value with an invalid "
            "format.",
            url_path.text);
    *ret_part = json_build("{s:s, s:s, s:s}", "type", "input_image", "image_url", url, "detail",
                           detail);
    return ERR_OK;
}

static enum err_code decode_image_file(const struct part *part, json_t **ret_part,
                                       struct err *err)
{
    struct param_path path = param_key(part->path, "image_file");
    json_t *image = NULL;
    const char *file = NULL;
    const char *detail = NULL;
    enum err_code rc;

    rc = param_object(part->json, part->path, "image_file", PARAM_REQUIRED, &image, err);
    if (!rc)
        rc = param_string(image, path.text, "file_id", PARAM_REQUIRED, 0, &file, err);
    if (!rc)
        rc = param_id(file, "file-", param_key(path.text, "file_id").text, err);
    if (!rc)
        rc = decode_detail(image, path.text, &detail, err);
    if (rc)
        return rc;
    *ret_part =
        json_build("{s:s, s:s, s:s}", "type", "input_image", "file_id", file, "detail", detail);
    return ERR_OK;
}

/* As in the API: only messages of the user have images. */
static enum err_code decode_part(const struct part *part, json_t **ret_part, struct err *err)
{
    static const char *const user_types[] = {"text", "image_url", "image_file", NULL};
    static const char *const assistant_types[] = {"text", NULL};
    const char *type = NULL;
    enum err_code rc;

    if (!json_is_object(part->json))
        return param_wrong_type(err, part->path, "an object", part->json);
    rc = param_enum(part->json, part->path, "type", PARAM_REQUIRED,
                    is_assistant(part->role) ? assistant_types : user_types, &type, err);
    if (rc)
        return rc;
    if (strcmp(type, "text") == 0)
        return decode_text(part, ret_part, err);
    return strcmp(type, "image_url") == 0 ? decode_image_url(part, ret_part, err)
                                          : decode_image_file(part, ret_part, err);
}

static enum err_code decode_parts(const json_t *message, const char *path, const char *role,
                                  json_t *content, struct err *err)
{
    struct param_path param = param_key(path, "content");
    json_t *parts = NULL;
    size_t i;
    json_t *json;
    enum err_code rc =
        param_array(message, path, "content", PARAM_REQUIRED, MESSAGE_PART_LIMIT, &parts, err);

    if (rc)
        return rc;
    if (json_array_size(parts) == 0)
        return param_empty_array(err, param.text);
    json_array_foreach (parts, i, json) {
        struct param_path at = param_index(param.text, i);
        const struct part part = {.json = json, .path = at.text, .role = role};
        json_t *decoded = NULL;

        rc = decode_part(&part, &decoded, err);
        if (rc)
            return rc;
        json_array_append_new(content, decoded);
    }
    return ERR_OK;
}

/* A string is short for one text part. */
static enum err_code decode_content(const json_t *message, const char *path, const char *role,
                                    json_t *content, struct err *err)
{
    struct param_path param = param_key(path, "content");
    const json_t *value = json_object_get(message, "content");
    const char *text = NULL;
    enum err_code rc;

    if (!value)
        return param_missing(err, param.text);
    if (json_is_array(value))
        return decode_parts(message, path, role, content, err);
    if (!json_is_string(value))
        return param_wrong_type(err, param.text, "one of a string or an array", value);
    rc = param_string(message, path, "content", PARAM_REQUIRED, MESSAGE_TEXT_LIMIT, &text, err);
    if (rc)
        return rc;
    json_array_append_new(content, text_part(role, text));
    return ERR_OK;
}

/* The tools that may read the file. The list has no more entries than there are types. */
static enum err_code check_attachment_tools(const json_t *attachment, const char *path,
                                            struct err *err)
{
    static const char *const types[] = {"code_interpreter", "file_search", NULL};
    json_t *tools = NULL;
    const char *type;
    size_t i;
    json_t *tool;
    enum err_code rc;

    rc = param_array(attachment, path, "tools", PARAM_OPTIONAL, COUNT_OF(types) - 1, &tools,
                     err);
    if (rc || !tools)
        return rc;
    json_array_foreach (tools, i, tool) {
        struct param_path at = param_index(param_key(path, "tools").text, i);

        if (!json_is_object(tool))
            return param_wrong_type(err, at.text, "an object", tool);
        rc = param_enum(tool, at.text, "type", PARAM_REQUIRED, types, &type, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_attachment(const json_t *attachment, const char *path,
                                      struct err *err)
{
    const char *file = NULL;
    enum err_code rc;

    if (!json_is_object(attachment))
        return param_wrong_type(err, path, "an object", attachment);
    rc = param_string(attachment, path, "file_id", PARAM_REQUIRED, 0, &file, err);
    if (!rc)
        rc = param_id(file, "file-", param_key(path, "file_id").text, err);
    return rc ? rc : check_attachment_tools(attachment, path, err);
}

static enum err_code decode_attachments(const json_t *message, const char *path,
                                        json_t **ret_attachments, struct err *err)
{
    json_t *attachments = NULL;
    size_t i;
    json_t *attachment;
    enum err_code rc = param_array(message, path, "attachments", PARAM_OPTIONAL,
                                   MESSAGE_ATTACHMENT_LIMIT, &attachments, err);

    if (rc)
        return rc;
    json_array_foreach (attachments, i, attachment) {
        struct param_path at = param_index(param_key(path, "attachments").text, i);

        rc = check_attachment(attachment, at.text, err);
        if (rc)
            return rc;
    }
    *ret_attachments = attachments ? json_incref(attachments) : json_array();
    return ERR_OK;
}

/* A message that a client adds is input, complete, and of no turn. */
static void fill_item(struct item_row *item, const char *thread_id, const char *role,
                      const json_t *body, const json_t *metadata)
{
    *item = (struct item_row){
        .input = true,
        .turn = -1,
        .status = ITEM_COMPLETED,
        .type = ITEM_MESSAGE,
        .body = json_text(body),
        .metadata = metadata ? json_text(metadata) : mem_strdup("{}"),
        .created_at = clock_wall_us(),
    };
    item->completed_at = item->created_at;
    id_make(item->id, "msg_");
    (void)snprintf(item->role, sizeof(item->role), "%s", role);
    (void)snprintf(item->thread_id, sizeof(item->thread_id), "%s", thread_id);
}

enum err_code message_decode(const json_t *message, const char *path, const char *thread_id,
                             struct item_row *ret_item, struct err *err)
{
    static const char *const roles[] = {"user", "assistant", NULL};
    static const char *const known[] = {"role", "content", "attachments", "metadata", NULL};
    json_auto_t *content = json_array();
    json_auto_t *attachments = NULL;
    json_auto_t *body = NULL;
    json_t *metadata = NULL;
    const char *role = NULL;
    enum err_code rc;

    if (!json_is_object(message))
        return param_wrong_type(err, path, "an object", message);
    rc = param_unknown(message, path, known, err);
    if (!rc)
        rc = param_enum(message, path, "role", PARAM_REQUIRED, roles, &role, err);
    if (!rc)
        rc = decode_content(message, path, role, content, err);
    if (!rc)
        rc = decode_attachments(message, path, &attachments, err);
    if (!rc)
        rc = param_metadata_at(message, path, &metadata, err);
    if (rc)
        return rc;
    body = json_build("{s:s, s:O, s:O}", "role", role, "content", content, "attachments",
                      attachments);
    fill_item(ret_item, thread_id, role, body, metadata);
    return ERR_OK;
}

enum err_code messages_decode(const json_t *object, const char *path, const char *key,
                              const char *thread_id, struct item_row **ret_items,
                              size_t *ret_count, struct err *err)
{
    struct param_path param = param_key(path, key);
    struct item_row *items;
    json_t *messages = NULL;
    size_t i;
    json_t *message;
    enum err_code rc =
        param_array(object, path, key, PARAM_OPTIONAL, THREAD_MESSAGE_LIMIT, &messages, err);

    if (rc)
        return rc;
    /* All or none: a bad message in the middle releases those before it. */
    items = mem_new_array(struct item_row, json_array_size(messages));
    json_array_foreach (messages, i, message) {
        rc =
            message_decode(message, param_index(param.text, i).text, thread_id, &items[i], err);
        if (rc) {
            item_rows_free(items, i);
            return rc;
        }
    }
    *ret_items = items;
    *ret_count = json_array_size(messages);
    return ERR_OK;
}

static enum err_code check_resources(const json_t *object, const char *path,
                                     json_t **ret_resources, struct err *err)
{
    json_t *resources = json_object_get(object, "tool_resources");

    if (json_absent(resources))
        return ERR_OK;
    *ret_resources = resources;
    return files_view_check_resources(resources, param_key(path, "tool_resources").text, err);
}

enum err_code thread_decode(const json_t *thread, const char *path,
                            struct thread_row *ret_thread, struct item_row **ret_messages,
                            size_t *ret_count, struct err *err)
{
    static const char *const known[] = {"messages", "tool_resources", "metadata", "runnel",
                                        NULL};
    const json_t *runnel = json_object_get(thread, "runnel");
    struct thread_row row = {.created_at = clock_wall_us()};
    json_t *metadata = NULL;
    json_t *resources = NULL;
    enum err_code rc;

    rc = param_unknown(thread, path, known, err);
    if (!rc)
        rc = param_metadata_at(thread, path, &metadata, err);
    if (!rc)
        rc = check_resources(thread, path, &resources, err);
    if (!rc)
        rc = runnel_defaults_check(thread, path, err);
    id_make(row.id, "thread_");
    if (!rc)
        rc = messages_decode(thread, path, "messages", row.id, ret_messages, ret_count, err);
    if (rc)
        return rc;
    row.metadata = metadata ? json_text(metadata) : mem_strdup("{}");
    row.tool_resources = resources ? json_text(resources) : mem_strdup("{}");
    row.settings = json_is_object(runnel) ? json_text(runnel) : NULL;
    *ret_thread = row;
    return ERR_OK;
}
