/*
 * notes.c -- the member `runnel`, named in one place.
 *
 * OpenAI's clients ignore members that they do not know, so all that this server adds to an object is one
 * member, and cannot collide with a member that OpenAI adds later.
 */

#include "core/domain/notes.h"

#include "core/base/json.h"

static const char key[] = "runnel";
static const char cut[] = "cut";

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

void notes_drop(json_t *object)
{
    json_object_del(object, key);
}

void notes_mark_cut(json_t *body)
{
    json_set_bool(notes_make(body), cut, true);
}

bool notes_say_cut(const json_t *body)
{
    return json_get_bool(notes_of(body), cut, false);
}
