#include "server/fakemodel/upload.h"

#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "server/http/parse/form.h"

static json_t *field_value(const struct buf *data)
{
    AUTO_FREE char *text = json_clean_utf8(data->data ? data->data : "", data->length);
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);

    if (json_is_number(value) || json_is_boolean(value))
        return value;
    json_decref(value);
    return json_string(text);
}

static json_t *part_value(const struct form_part *part)
{
    if (!part->filename)
        return field_value(&part->data);
    return json_build("{ss ss* sI}", "filename", part->filename, "type", part->type, "bytes",
                      (json_int_t)part->data.length);
}

static void add_part(json_t *body, const struct form_part *part)
{
    size_t length = strlen(part->name);
    bool is_list = length > 2 && strcmp(part->name + length - 2, "[]") == 0;
    AUTO_FREE char *name = mem_strndup(part->name, is_list ? length - 2 : length);
    json_t *present = json_object_get(body, name);

    if (is_list && !present)
        json_set(body, name, present = json_array());
    if (json_is_array(present))
        json_array_append_new(present, part_value(part));
    else if (present)
        json_set(body, name, json_build("[Oo]", present, part_value(part)));
    else
        json_set(body, name, part_value(part));
}

static void add_digest(json_t *body, const struct buf *bytes)
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    AUTO_BUF hex = {0};

    sha256_bytes(bytes->data ? bytes->data : "", bytes->length, hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        buf_addf(&hex, "%02x", (unsigned)hash[i]);
    json_set_string(body, "sha256", hex.data);
}

json_t *upload_read(const char *type, const struct buf *body)
{
    struct form *form = NULL;
    json_t *object;

    if (!type || strncasecmp(type, "multipart/form-data", 19) != 0 ||
        form_parse(type, body->data ? body->data : "", body->length, &form, NULL))
        return NULL;
    object = json_object();
    for (size_t i = 0; i < form->count; i++)
        add_part(object, &form->parts[i]);
    form_free(form);
    add_digest(object, body);
    return object;
}
