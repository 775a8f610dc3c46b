/*
 * call_pictures.c -- which pictures a drawing of a run may begin with.
 *
 * They are large, and this is a loop. So they are gathered for edits only, and what is gathered shares its texts with
 * the items that were read.
 */

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/calls/run_calls.h"
#include "core/run/turn/run_model.h"
#include "core/tool/registry.h"
#include "core/tool/tool_item.h"

/* The picture that a call has drawn; NULL for all other items. New reference. */
static json_t *drawn_picture(const struct item_row *row)
{
    const struct tool_item *item;
    json_auto_t *body = NULL;

    if (item_type_kind(row->type) != ITEM_KIND_HOSTED_CALL || !row->body)
        return NULL;
    item = tool_registry_item(item_row_type_name(row));
    if (!item || !item->picture)
        return NULL;
    body = json_parse_own(row->body);
    return withheld_is(body) ? NULL : item->picture(body);
}

/* What names a picture in a part of a message. New reference; NULL: it has none. */
static json_t *named_picture(const json_t *part)
{
    static const char *const keys[] = {"file_id", "image_url"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *name = json_object_get(part, keys[i]);

        if (json_is_string(name) &&
            strcmp(json_get_string(part, "type", ""), "input_image") == 0)
            return json_build("{s:O}", keys[i], name);
    }
    return NULL;
}

static void add_sent_pictures(const struct item_row *row, json_t *pictures)
{
    json_auto_t *body = NULL;
    size_t i;
    json_t *part;

    if (row->type != ITEM_MESSAGE || strcmp(row->role, "user") != 0 || !row->body ||
        !strstr(row->body, "\"input_image\""))
        return;
    body = json_parse_own(row->body);
    json_array_foreach (json_object_get(body, "content"), i, part) {
        json_t *picture = named_picture(part);

        if (picture)
            json_array_append_new(pictures, picture);
    }
}

/* The last item that a drawing begins with: one that was drawn, else a message with pictures. */
static size_t first_item(const struct item_row *const *items, size_t count, json_t **ret_drawn)
{
    size_t sent = count;

    for (size_t i = count; i-- > 0;) {
        *ret_drawn = drawn_picture(items[i]);
        if (*ret_drawn)
            return i;
        if (sent == count) {
            json_auto_t *pictures = json_array();

            add_sent_pictures(items[i], pictures);
            if (json_array_size(pictures))
                sent = i;
        }
    }
    return sent;
}

json_t *run_pictures(const struct run *run, const struct tool_use *use, const json_t *args)
{
    const struct tool_item *item = use->handler->item;
    AUTO_FREE const struct item_row **items = NULL;
    size_t count;
    json_t *pictures;
    json_t *drawn = NULL;

    if (!item || !item->edits || !item->edits(use->entry, args))
        return NULL;
    items = run_gather_items(run, &count);
    pictures = json_array();
    for (size_t i = first_item(items, count, &drawn); i < count; i++) {
        if (drawn)
            json_array_append_new(pictures, TAKE(drawn));
        else
            add_sent_pictures(items[i], pictures);
    }
    return pictures;
}

/* ---- How many were drawn ---- */

/* Pictures of the upstream are not this server's to limit. */
static bool was_drawn(const struct run *run, const struct item_row *row)
{
    const struct tool_item *item;

    if (!run_has_made(run, row) || item_type_kind(row->type) != ITEM_KIND_HOSTED_CALL ||
        !row->body || strstr(row->body, "\"" NOTE_PASSED "\""))
        return false;
    item = tool_registry_item(item_row_type_name(row));
    return item && item->picture;
}

/* Of earlier turns items are counted. Of this turn calls are, as an item may not be shown yet. */
static unsigned drawn_before(const struct run *run)
{
    unsigned drawn = 0;

    for (size_t i = 0; i < run->history_count; i++)
        drawn += run->history[i].turn < run->calls.turn && was_drawn(run, &run->history[i]);
    /* A crash has cut them, and this residency has closed their items. */
    for (size_t i = 0; i < run->items.count; i++) {
        const struct item_row *row = &run->items.list[i]->row;

        drawn += row->turn < run->calls.turn && was_drawn(run, row);
    }
    for (unsigned i = 0; i < run->calls.count; i++) {
        const struct call *call = &run->calls.list[i];

        drawn += call->begun && call->use && call->use->handler->flags & TOOL_DRAWS;
    }
    return drawn;
}

unsigned run_count_drawing(struct run *run)
{
    if (!run->calls.drawn_known)
        run->calls.drawn = drawn_before(run);
    run->calls.drawn_known = true;
    return ++run->calls.drawn;
}
