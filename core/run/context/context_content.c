/*
 * context_content.c -- parts of the Responses API as parts of the Chat API.
 */

#include "core/run/context/context_content.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"

json_t *context_text_part(const char *text)
{
    return json_build("{s:s, s:s}", "type", "text", "text", text);
}

/* A picture of the server's own files keeps its id: its bytes are loaded when the request leaves (named_files.h). */
static json_t *image_part(const json_t *part)
{
    const char *url = json_get_string(part, "image_url", NULL);
    const char *detail = json_get_string(part, "detail", NULL);
    json_t *image = url ? json_build("{s:s}", "url", url)
                        : json_build("{s:s}", "file_id", json_get_string(part, "file_id", ""));

    if (detail)
        json_set_string(image, "detail", strcmp(detail, "original") == 0 ? "high" : detail);
    return json_build("{s:s, s:o}", "type", "image_url", "image_url", image);
}

/* A file that was read when it came is sent as its text: server/api/input_files.h. One that was not, because its
 * upstream reads files, keeps its id, as a picture does. */
static json_t *file_part(const json_t *part)
{
    const char *text = json_get_string(notes_of(part), "text", NULL);
    json_t *file;
    static const char *const keys[] = {"file_id", "filename", "file_data", "file_url"};

    if (text)
        return context_text_part(text);
    file = json_object();
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(part, keys[i]);

        if (!json_absent(value))
            json_object_set(file, keys[i], value);
    }
    return json_build("{s:s, s:o}", "type", "file", "file", file);
}

/* Pages of a file that the model sees beside their text, by the notes of server/api/input_files.h. They are drawn when
 * the request leaves. NULL: none. */
static json_t *pages_part(const json_t *part)
{
    const json_t *notes = notes_of(part);
    json_int_t pages = json_get_int(notes, "pages", 0);
    const json_t *holder = json_object_get(notes, "file_data") ? notes : part;
    json_t *data = json_object_get(holder, "file_data");
    json_t *image;

    if (!pages)
        return NULL;
    image = json_build("{s:s, s:I}", "detail", "high", "pages", pages);
    if (json_absent(data))
        json_object_set(image, "file_id", json_object_get(part, "file_id"));
    else
        json_object_set(image, "file_data", data);
    return json_build("{s:s, s:o}", "type", "image_url", "image_url", image);
}

static json_t *chat_part(const json_t *part)
{
    const char *type = json_get_string(part, "type", "");

    if (strcmp(type, "input_image") == 0)
        return image_part(part);
    if (strcmp(type, "input_file") == 0)
        return file_part(part);
    if (strcmp(type, "refusal") == 0)
        return context_text_part(json_get_string(part, "refusal", ""));
    return context_text_part(json_get_string(part, "text", ""));
}

json_t *context_joined_text(const json_t *parts)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *part;

    json_array_foreach (parts, i, part) {
        if (text.length)
            buf_add_text(&text, "\n\n");
        buf_add_text(&text, json_get_string(part, "text", ""));
    }
    return json_stringn_nocheck(text.data ? text.data : "", text.length);
}

json_t *context_content(const json_t *content)
{
    json_auto_t *parts = json_array();
    bool text_only = true;
    size_t i;
    json_t *part;

    if (json_is_string(content))
        return json_deep_copy(content);
    json_array_foreach (content, i, part) {
        json_t *made = chat_part(part);
        json_t *pages = pages_part(part);

        text_only = text_only && !pages && json_object_get(made, "text");
        json_array_append_new(parts, made);
        if (pages)
            json_array_append_new(parts, pages);
    }
    return text_only ? context_joined_text(parts) : json_incref(parts);
}

json_t *context_texts(const json_t *content)
{
    json_auto_t *sent = context_content(content);
    json_t *texts = json_array();
    size_t i;
    json_t *part;

    if (json_is_string(sent))
        json_array_append(texts, sent);
    json_array_foreach (sent, i, part) {
        json_t *text = json_object_get(part, "text");

        if (text)
            json_array_append(texts, text);
    }
    return texts;
}
