#include "core/run/turn/named_files.h"

#include <string.h>

#include "core/base/json.h"

json_t *named_file_of(const json_t *part, bool *ret_picture)
{
    const char *type = json_get_string(part, "type", "");

    *ret_picture = strcmp(type, "image_url") == 0;
    if (*ret_picture)
        return json_object_get(part, "image_url");
    return strcmp(type, "file") == 0 ? json_object_get(part, "file") : NULL;
}

size_t named_pages(const json_t *named)
{
    return (size_t)json_get_int(named, "pages", 0);
}

static bool names_file(const json_t *part, const struct model_upstream *upstream)
{
    bool picture;
    const json_t *file = named_file_of(part, &picture);

    return file && (json_object_get(file, "file_id") || named_pages(file) ||
                    (picture && upstream->text_only));
}

bool messages_name_files(const json_t *messages, const struct model_upstream *upstream)
{
    size_t i, j;
    json_t *message, *part;

    json_array_foreach (messages, i, message) {
        json_array_foreach (json_object_get(message, "content"), j, part) {
            if (names_file(part, upstream))
                return true;
        }
    }
    return false;
}
