/*
 * chat_details.c -- an entry of `reasoning_details`, from its first fragment to its last.
 *
 * At most one entry is open. It ends when an element does not continue it, or when something else
 * follows. Its text is collected in a buffer, because a JSON string would be copied for every
 * fragment. Other members are those of the first fragment, unless a later one has a value for them.
 */

#include "core/model/chat/chat_details.h"

#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* The member with the text of such an entry; NULL for entries that come whole. */
static const char *text_member(const json_t *element)
{
    const char *type = json_get_string(element, "type", "");

    if (strcmp(type, "reasoning.text") == 0)
        return "text";
    return strcmp(type, "reasoning.summary") == 0 ? "summary" : NULL;
}

/* Absent and null are the same; absent in one of them is the same, too, for `id`: some servers send it
 * with the first fragment only. */
static bool agree(const json_t *open, const json_t *element, const char *key)
{
    const json_t *a = json_object_get(open, key);
    const json_t *b = json_object_get(element, key);

    if (json_absent(a) || json_absent(b))
        return strcmp(key, "id") == 0 || (json_absent(a) && json_absent(b));
    return json_equal(a, b);
}

static bool continues(const struct chat_details *details, const json_t *element)
{
    const char *member = text_member(element);

    return details->open && member && strcmp(member, details->member) == 0 &&
           agree(details->open, element, "index") && agree(details->open, element, "id");
}

static void add_fragment(struct chat_details *details, const json_t *element)
{
    const json_t *text = details->member ? json_object_get(element, details->member) : NULL;
    const char *key;
    json_t *value;

    if (json_string_length(text))
        buf_add(&details->text, json_string_value(text), json_string_length(text));
    json_object_foreach ((json_t *)(uintptr_t)element, key, value) {
        if (!json_absent(value) || !json_object_get(details->open, key))
            json_object_set(details->open, key, value);
    }
}

json_t *chat_details_end(struct chat_details *details)
{
    json_t *whole = TAKE(details->open);

    if (details->text.length)
        json_set(whole, details->member,
                 json_stringn_nocheck(details->text.data, details->text.length));
    buf_reset(&details->text);
    return whole;
}

json_t *chat_details_take(struct chat_details *details, const json_t *element)
{
    json_t *ended = NULL;

    if (!json_get_string(element, "type", NULL))
        return NULL;
    if (!continues(details, element)) {
        ended = chat_details_end(details);
        details->open = json_object();
        details->member = text_member(element);
    }
    add_fragment(details, element);
    return ended;
}

void chat_details_clear(struct chat_details *details)
{
    json_decref(TAKE(details->open));
    buf_clear(&details->text);
}
