#include "core/run/context/configuration_updates.h"

#include "core/base/json.h"

void configuration_updates_apply(const struct item_row *const *items, size_t count,
                                 struct run_settings *settings, json_t **ret_bodies)
{
    json_t *bodies = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *body;
        const json_t *reasoning, *text;

        if (items[i]->type != ITEM_CONFIGURATION_UPDATE)
            continue;
        body = json_parse_own(items[i]->body);
        json_array_append_new(bodies, body);
        reasoning = json_object_get(body, "reasoning");
        text = json_object_get(body, "text");
        if (reasoning)
            settings->reasoning_effort = json_get_string(reasoning, "effort", NULL);
        if (text)
            settings->format = json_object_get(text, "format");
    }
    *ret_bodies = bodies;
}
