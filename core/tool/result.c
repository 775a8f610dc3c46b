/*
 * result.c -- the result of a call: its parts in memory, as text for the model, and as JSON.
 *
 *   handler ─▶ parts or data ─▶ tool_result_format() ─▶ parts ─▶ tool_result_text() ─▶ the model
 *                                                          └──▶ tool_result_attachments() ─▶ the item
 *
 * A model reads text. Parts that are no text (images, files, links) become a line that names them, so the
 * model can mention them, and clients get them as attachments of the item. A handler may return data
 * instead of text. The data becomes text on the worker, before the loop sees it.
 *
 * Every text that comes in is made valid UTF-8 at once. Everything behind this file writes it as JSON, and
 * jansson and PostgreSQL refuse invalid bytes.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/call_internal.h"
#include "core/tool/tool.h"

/* clang-format off */
static const char *const kind_names[] = {
    [TOOL_PART_TEXT]  = "text",
    [TOOL_PART_IMAGE] = "image",
    [TOOL_PART_FILE]  = "file",
    [TOOL_PART_URL]   = "url",
};

static const char *const status_names[] = {
    [TOOL_SUCCESS]   = "success",
    [TOOL_ERROR]     = "error",
    [TOOL_REJECTED]  = "execution_rejected",
    [TOOL_CANCELLED] = "cancelled",
    [TOOL_NOT_FOUND] = "not_found",
};
/* clang-format on */

void tool_result_add_part(struct tool_result *result, struct tool_part part)
{
    result->parts = mem_resize(result->parts, result->count + 1, sizeof(*result->parts));
    result->parts[result->count++] = part;
}

void tool_result_add_bytes(struct tool_result *result, const char *text, size_t length)
{
    char *clean = json_clean_utf8(text, length);

    tool_result_add_part(
        result,
        (struct tool_part){.kind = TOOL_PART_TEXT, .data = clean, .length = strlen(clean)});
}

void tool_result_add_text(struct tool_result *result, const char *text)
{
    tool_result_add_bytes(result, text, strlen(text));
}

void tool_result_set_data(struct tool_result *result, json_t *data)
{
    json_decref(result->data);
    result->data = data;
}

void tool_result_describe(struct tool_result *result, const char *title, json_t *metadata)
{
    free(result->title);
    result->title = title ? json_clean_utf8(title, strlen(title)) : NULL;
    json_decref(result->metadata);
    result->metadata = metadata;
}

const char *tool_status_name(enum tool_status status)
{
    return status_names[status];
}

enum tool_status tool_status_parse(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(status_names); i++) {
        if (strcmp(name, status_names[i]) == 0)
            return (enum tool_status)i;
    }
    return TOOL_SUCCESS;
}

void tool_result_end(struct tool_result *result, enum tool_status status, const char *why)
{
    free(result->why);
    result->why = why ? json_clean_utf8(why, strlen(why)) : NULL;
    result->status = status;
}

void tool_result_set_sources(struct tool_result *result, json_t *sources)
{
    json_decref(result->sources);
    result->sources = sources;
}

void tool_result_set_files(struct tool_result *result, json_t *files)
{
    json_decref(result->files);
    result->files = files;
}

void tool_result_clear(struct tool_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->parts[i].mime_type);
        free(result->parts[i].data);
        free(result->parts[i].url);
    }
    free(result->parts);
    json_decref(result->data);
    free(result->title);
    json_decref(result->metadata);
    json_decref(result->sources);
    json_decref(result->files);
    free(result->why);
    *result = (struct tool_result){0};
}

/* "[image image/png: https://...]": the model cannot see the part, but can mention it. */
static void name_part(struct buf *buf, const struct tool_part *part)
{
    buf_addf(buf, "[%s", kind_names[part->kind]);
    if (part->mime_type)
        buf_addf(buf, " %s", part->mime_type);
    if (part->url)
        buf_addf(buf, ": %s", part->url);
    buf_add_char(buf, ']');
}

char *tool_result_text(const struct tool_result *result)
{
    AUTO_BUF text = {0};

    for (size_t i = 0; i < result->count; i++) {
        const struct tool_part *part = &result->parts[i];

        if (i)
            buf_add_char(&text, '\n');
        if (part->kind == TOOL_PART_TEXT)
            buf_add(&text, part->data, part->length);
        else
            name_part(&text, part);
    }
    return buf_take(&text);
}

static json_t *part_json(const struct tool_part *part)
{
    const char *data_key = part->kind == TOOL_PART_TEXT ? "text" : "data";
    json_t *json = json_build("{s:s}", "type", kind_names[part->kind]);

    if (part->mime_type)
        json_set_string(json, "mime_type", part->mime_type);
    else if (part->kind == TOOL_PART_TEXT)
        json_set_string(json, "mime_type", "text/plain");
    if (part->data)
        json_set(json, data_key, json_build("s%", part->data, part->length));
    if (part->url)
        json_set_string(json, "url", part->url);
    return json;
}

json_t *tool_result_json(const struct tool_result *result)
{
    json_t *parts = json_build("[]");

    for (size_t i = 0; i < result->count; i++)
        json_array_append_new(parts, part_json(&result->parts[i]));
    return parts;
}

static enum err_code part_parse(const json_t *json, struct tool_part *ret_part, struct err *err)
{
    const char *type = json_get_string(json, "type", "");
    struct tool_part part = {0};
    const json_t *data;

    while (part.kind < COUNT_OF(kind_names) && strcmp(kind_names[part.kind], type) != 0)
        part.kind++;
    if (part.kind == COUNT_OF(kind_names))
        return err_set(err, ERR_INVALID, "a tool result has no parts of type '%s'", type);
    data = json_object_get(json, part.kind == TOOL_PART_TEXT ? "text" : "data");
    if (part.kind == TOOL_PART_TEXT && !json_is_string(data))
        return err_set(err, ERR_INVALID, "a text part of a tool result needs its text");

    part.data = mem_strdup(json_string_value(data));
    part.length = json_string_length(data);
    part.mime_type = mem_strdup(json_get_string(json, "mime_type", NULL));
    part.url = mem_strdup(json_get_string(json, "url", NULL));
    *ret_part = part;
    return ERR_OK;
}

enum err_code tool_result_parse(const json_t *json, struct tool_result *ret_result,
                                struct err *err)
{
    struct tool_result result = {0};
    const json_t *item;
    size_t i;

    if (!json_is_array(json))
        return err_set(err, ERR_INVALID, "a tool result is a list of parts");
    json_array_foreach (json, i, item) {
        struct tool_part part;
        enum err_code rc = part_parse(item, &part, err);

        if (rc) {
            tool_result_clear(&result);
            return rc;
        }
        tool_result_add_part(&result, part);
    }
    *ret_result = result;
    return ERR_OK;
}

/* ---- Attachments ---- */

/* Bytes of base64 that an item carries, all its attachments together. Items are stored, streamed, and sent
 * again with each listing. */
#define ATTACHMENT_LIMIT ((size_t)256 << 10)

json_t *tool_result_attachments(const struct tool_result *result)
{
    json_t *list = NULL;
    size_t total = 0;

    for (size_t i = 0; i < result->count; i++) {
        const struct tool_part *part = &result->parts[i];
        json_t *json;

        if (part->kind == TOOL_PART_TEXT)
            continue;
        json = part_json(part);
        /* Too large: the client learns the size instead of the content. */
        if (part->data && total + part->length > ATTACHMENT_LIMIT) {
            json_object_del(json, "data");
            json_set_int(json, "bytes", (json_int_t)part->length);
        } else {
            total += part->length;
        }
        if (!list)
            list = json_array();
        json_array_append_new(list, json);
    }
    return list;
}

/* ---- Data becomes text ---- */

static bool has_text(const struct tool_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->parts[i].kind == TOOL_PART_TEXT)
            return true;
    return false;
}

static char *plain_text(const json_t *data)
{
    if (json_is_string(data))
        return mem_strndup(json_string_value(data), json_string_length(data));
    return json_text_indented(data, 2);
}

void tool_result_format(struct tool_result *result, const struct tool_handler *handler,
                        const json_t *args)
{
    AUTO_FREE char *text = NULL;
    struct err why = {0};

    if (!result->data || has_text(result))
        return;
    /* A formatter that fails does not fail the call, which has had its effects. */
    text =
        handler->format ? handler->format(result->data, args, &why) : plain_text(result->data);
    if (!text)
        text = mem_printf("[格式化错误] %s", why.text);
    tool_result_add_text(result, text);
}
