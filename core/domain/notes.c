#include "core/domain/notes.h"

#include "core/base/json.h"

static const char key[] = "runnel";

json_t *notes_of(const json_t *object)
{
    return json_object_get(object, key);
}

json_t *notes_make(json_t *object)
{
    if (!notes_of(object))
        json_set(object, key, json_object());
    return notes_of(object);
}
