#include "core/picture/picture_request.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

json_t *picture_request_members(const struct picture_order *order, const char *prompt,
                                const char *model, bool legacy, bool previews)
{
    json_t *members = json_build("{s:s, s:s}", "model", model, "prompt", prompt);

    json_object_update_missing(members, (json_t *)(uintptr_t)order->members);
    if (json_object_get(order->members, "model"))
        json_object_set(members, "model", json_object_get(order->members, "model"));
    if (legacy)
        json_set_string(members, "response_format", "b64_json");
    else if (previews && order->previews) {
        json_set_bool(members, "stream", true);
        json_set_int(members, "partial_images", order->previews);
    }
    return members;
}

static void add_head(struct buf *form, const char *boundary, const char *name)
{
    buf_addf(form, "--%s\r\nContent-Disposition: form-data; name=\"%s\"", boundary, name);
}

static void add_field(struct buf *form, const char *boundary, const char *name,
                      const json_t *value)
{
    AUTO_FREE char *text = json_is_string(value) ? NULL : json_text(value);

    add_head(form, boundary, name);
    buf_add_text(form, "\r\n\r\n");
    buf_add_text(form, text ? text : json_string_value(value));
    buf_add_text(form, "\r\n");
}

/* Servers look at the end of the name. */
static const char *ending_of(const char *type)
{
    const char *slash = strchr(type, '/');

    return slash ? slash + 1 : "bin";
}

static void add_picture(struct buf *form, const char *boundary, const char *name, size_t number,
                        const struct picture_source *source)
{
    add_head(form, boundary, name);
    buf_addf(form, "; filename=\"%zu.%s\"\r\nContent-Type: %s\r\n\r\n", number,
             ending_of(source->type), source->type);
    buf_add(form, source->bytes.data, source->bytes.length);
    buf_add_text(form, "\r\n");
}

void picture_request_form(const json_t *members, const struct picture_order *order,
                          const char *boundary, struct buf *ret_form)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)members, key, value)
        add_field(ret_form, boundary, key, value);
    for (size_t i = 0; i < order->source_count; i++)
        add_picture(ret_form, boundary, order->source_count > 1 ? "image[]" : "image", i + 1,
                    &order->sources[i]);
    if (order->mask)
        add_picture(ret_form, boundary, "mask", 0, order->mask);
    buf_addf(ret_form, "--%s--\r\n", boundary);
}
