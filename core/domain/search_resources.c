#include "core/domain/search_resources.h"

#include <string.h>

#include "core/base/json.h"

bool search_resources_used(const json_t *tools)
{
    size_t i;
    json_t *tool;

    json_array_foreach (tools, i, tool) {
        if (strcmp(json_get_string(tool, "type", ""), "file_search") == 0)
            return true;
    }
    return false;
}

const char *search_resources_store(const json_t *resources)
{
    const json_t *search = json_object_get(resources, "file_search");

    return json_string_value(json_array_get(json_object_get(search, "vector_store_ids"), 0));
}

void search_resources_set(json_t *resources, const char *id)
{
    if (!json_is_object(json_object_get(resources, "file_search")))
        json_set(resources, "file_search", json_object());
    resources = json_object_get(resources, "file_search");
    json_object_del(resources, "vector_stores");
    json_set(resources, "vector_store_ids", json_build("[s]", id));
}
