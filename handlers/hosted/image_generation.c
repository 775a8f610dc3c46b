/*
 * image_generation_call -- the item of a tool that makes a picture; its result is the picture in base64.
 *
 * Previews are stages, "partial_image", with fields of their own. The last image part of the result counts,
 * so a tool may return a preview and the picture.
 */

#include "core/base/json.h"
#include "handlers/handlers.h"

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    (void)args;
    for (size_t i = 0; i < result->count; i++) {
        const struct tool_part *part = &result->parts[i];

        if (part->kind == TOOL_PART_IMAGE && part->data)
            json_set_string(fields, "result", part->data);
    }
}

const struct tool_item image_generation_item = {
    .type = "image_generation_call",
    .fields = "{\"result\":null}",
    .fill = fill,
};
