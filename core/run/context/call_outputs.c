#include "core/run/context/call_outputs.h"

#include <jansson.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/context/past_calls.h"

const char *call_output_id(const struct item_row *call)
{
    return *call->call_id ? call->call_id : call->id;
}

/* Goes from the end to the beginning, so that `next` has, for each id, the output that comes next. */
size_t *call_outputs_find(const struct item_row *const *items, size_t first, size_t end)
{
    size_t *places = mem_new_array(size_t, end - first + 1);
    json_auto_t *next = json_object();

    for (size_t i = end; i-- > first;) {
        const json_t *place = json_object_get(next, call_output_id(items[i]));

        places[i - first] = place ? (size_t)json_integer_value(place) : end;
        if (item_type_is_output(items[i]->type))
            json_object_set_new(next, items[i]->call_id, json_integer((json_int_t)i));
    }
    return places;
}
