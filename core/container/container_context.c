/*
 * Which container a context continues with: that of its newest call.
 */

#include <jansson.h>
#include <string.h>

#include "core/base/json.h"
#include "core/container/containers.h"

/* Items of code_interpreter have it themselves, those of shell in their environment. */
static const char *container_of(const json_t *body)
{
    const char *id = json_get_string(body, "container_id", NULL);

    return id ? id : json_get_string(json_object_get(body, "environment"), "container_id", "");
}

static bool may_have_one(const struct item_row *item)
{
    return (item->type == ITEM_CODE_INTERPRETER_CALL || item->type == ITEM_SHELL_CALL) &&
           item->body && strstr(item->body, "cntr_");
}

void container_in_items(const struct item_row *items, size_t count, char ret_id[ID_SIZE])
{
    *ret_id = '\0';
    while (count-- > 0) {
        json_auto_t *body =
            may_have_one(&items[count]) ? json_parse_own(items[count].body) : NULL;
        const char *id = body ? container_of(body) : "";

        if (*id && strlen(id) < ID_SIZE) {
            memcpy(ret_id, id, strlen(id) + 1);
            return;
        }
    }
}
