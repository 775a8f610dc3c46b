#include "core/domain/search_resources.h"

#include "core/base/json.h"

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
