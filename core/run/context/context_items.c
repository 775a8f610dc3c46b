/*
 * context_items.c -- which items are sent, in which order, and where finished turns end.
 */

#include "core/run/context/context_items.h"

#include <string.h>

#include "core/base/json.h"
#include "core/domain/notes.h"

bool context_is_output(const struct item_row *item)
{
    return item_type_is_output(item->type);
}

bool context_is_users(const struct item_row *item)
{
    return item->type == ITEM_MESSAGE && strcmp(item->role, "user") == 0;
}

bool context_is_divide(const struct item_row *item)
{
    return item->type == ITEM_COMPACTION ||
           (item->type == ITEM_MESSAGE && strcmp(item->role, "assistant") != 0);
}

/* `later` was sent in one request with `message`, after it, and is the output of a call before both. */
static bool answers_before(const struct item_row *later, const struct item_row *message)
{
    return later->input && context_is_output(later) && message->input &&
           context_is_divide(message) && message->type == ITEM_MESSAGE &&
           strcmp(message->run_id, later->run_id) == 0;
}

/* `later` belongs to an earlier turn than `shown`: the message that a final tool's output becomes counts as
 * the next turn, but is shown before the item of its call. */
static bool is_of_earlier_turn(const struct item_row *later, const struct item_row *shown)
{
    return !later->input && !shown->input && shown->turn > later->turn &&
           strcmp(shown->run_id, later->run_id) == 0;
}

/* An insertion sort: nearly all items are in order already, and the others move a few places. */
void context_order(const struct item_row **items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct item_row *item = items[i];
        size_t at = i;

        while (at &&
               (is_of_earlier_turn(item, items[at - 1]) || answers_before(item, items[at - 1])))
            at--;
        memmove(items + at + 1, items + at, (i - at) * sizeof(items[0]));
        items[at] = item;
    }
}

/* A client may have sent it in one request with the user's message. */
static bool is_new_input(const struct item_row *item)
{
    return context_is_divide(item) || (item->input && context_is_output(item));
}

static bool has_output(const struct item_row *const *items, size_t begin, size_t end)
{
    while (begin < end && !context_is_output(items[begin]))
        begin++;
    return begin < end;
}

/* The request will not have it. Only notes have the key without a backslash before its quote. */
static bool is_cut(const struct item_row *item)
{
    json_auto_t *body =
        item->body && strstr(item->body, "\"cut\":") ? json_parse_own(item->body) : NULL;

    return notes_say_cut(body);
}

size_t context_past(const struct item_row *const *items, size_t count)
{
    size_t users = count, begin, end;

    while (users && !context_is_users(items[users - 1]))
        users--;
    /* Outputs around the user's last message are new: the model must read them whole, and with their
     * calls. Then the turn that made these calls is not finished. */
    for (begin = users; begin && (is_new_input(items[begin - 1]) || is_cut(items[begin - 1]));
         begin--)
        ;
    for (end = users; end < count && (is_new_input(items[end]) || is_cut(items[end])); end++)
        ;
    if (!has_output(items, begin, end))
        return users;
    while (begin && !context_is_divide(items[begin - 1]))
        begin--;
    return begin;
}

size_t context_stretch(const struct item_row *const *items, size_t first, size_t past)
{
    while (first < past && !context_is_divide(items[first]))
        first++;
    return first;
}

size_t context_start(const struct item_row *const *items, size_t count, int last_messages,
                     const char *run_id)
{
    int seen = 0;

    for (size_t i = count; last_messages && i-- > 0;) {
        bool made_here = !items[i]->input && strcmp(items[i]->run_id, run_id) == 0;

        if (items[i]->type == ITEM_MESSAGE && !items[i]->hidden && !made_here &&
            ++seen == last_messages)
            return i;
    }
    return 0;
}
