/*
 * annotation.c -- citations as OpenAI's API has them: a table of types and their members.
 *
 * An upstream may send any object as an annotation. It is stored, and shown to clients that parse with
 * strict types, so it is built anew from the table. A new type of the API is a new line.
 */

#include "core/model/annotation.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

/* clang-format off */
static const struct {
    const char *type;
    const char *texts[5];
    const char *numbers[3];
} types[] = {
    {"url_citation",            {"url", "title"},                         {"start_index", "end_index"}},
    {"file_citation",           {"file_id", "filename"},                  {"index"}},
    {"container_file_citation", {"container_id", "file_id", "filename"},  {"start_index", "end_index"}},
    {"file_path",               {"file_id"},                              {"index"}},
};
/* clang-format on */

json_t *annotation_clean(const json_t *given)
{
    const char *type = json_get_string(given, "type", "");

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        json_t *clean;

        if (strcmp(types[i].type, type) != 0)
            continue;
        clean = json_build("{s:s}", "type", type);
        for (const char *const *key = types[i].texts; *key; key++)
            json_set_string(clean, *key, json_get_string(given, *key, ""));
        for (const char *const *key = types[i].numbers; *key; key++)
            json_set_int(clean, *key, json_get_int(given, *key, 0));
        return clean;
    }
    return NULL;
}
