/*
 * What the next write of a run carries: the last state of each row that has changed.
 *
 * Between two writes a row may change several times: an item opens and closes, a step gets its usage. Only
 * its last state has to be stored. So a row that waits is replaced, at the place of the first one: the
 * store sees rows in the order in which they came to be.
 *
 * Most writes carry a row or two, and a search through them is the fastest index. But a response that no
 * node could continue keeps all its items until its end, and with a search for each the work would grow
 * with the square of their number. So above ITEMS_SCANNED items their places are noted by id. Steps and
 * calls are few: a turn has at most MODEL_CALL_LIMIT calls, and a resumable run writes often.
 *
 * Variables and approval requests are put once each, and need no search.
 */

#include "core/run/turn/unwritten.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/item.h"

/* So many items are searched one by one. Beyond, their places are noted. */
#define ITEMS_SCANNED 16

void unwritten_clear(struct unwritten *unwritten)
{
    item_rows_free(unwritten->items, unwritten->item_count);
    json_decref(unwritten->places);
    step_rows_free(unwritten->steps, unwritten->step_count);
    call_rows_free(unwritten->calls, unwritten->call_count);
    variables_free(unwritten->variables, unwritten->variable_count);
    approval_rows_free(unwritten->approvals, unwritten->approval_count);
    *unwritten = (struct unwritten){0};
}

bool unwritten_is_empty(const struct unwritten *unwritten)
{
    return !unwritten->row && !unwritten->item_count && !unwritten->step_count &&
           !unwritten->call_count && !unwritten->variable_count && !unwritten->approval_count;
}

/* The room doubles whenever the count is a power of two. */
static struct item_row *append_item(struct unwritten *unwritten)
{
    size_t count = unwritten->item_count++;

    if ((count & (count - 1)) == 0)
        unwritten->items =
            mem_resize(unwritten->items, count ? 2 * count : 1, sizeof(*unwritten->items));
    return &unwritten->items[count];
}

static void note_place(struct unwritten *unwritten, size_t at)
{
    json_object_set_new(unwritten->places, unwritten->items[at].id,
                        json_integer((json_int_t)at));
}

/* The first item beyond ITEMS_SCANNED makes the index, with all items before it. */
static void note_newest(struct unwritten *unwritten)
{
    size_t count = unwritten->item_count;

    if (count <= ITEMS_SCANNED)
        return;
    if (!unwritten->places) {
        unwritten->places = json_object();
        for (size_t i = 0; i < count - 1; i++)
            note_place(unwritten, i);
    }
    note_place(unwritten, count - 1);
}

/* An earlier state of the item, which still waits; or NULL. */
static struct item_row *find_item(const struct unwritten *unwritten, const char *id)
{
    const json_t *place = json_object_get(unwritten->places, id);

    if (unwritten->places)
        return place ? &unwritten->items[json_integer_value(place)] : NULL;
    for (size_t i = 0; i < unwritten->item_count; i++) {
        if (strcmp(unwritten->items[i].id, id) == 0)
            return &unwritten->items[i];
    }
    return NULL;
}

void unwritten_put_item(struct unwritten *unwritten, const struct item_row *row)
{
    struct item_row *earlier = find_item(unwritten, row->id);

    if (earlier) {
        item_row_clear(earlier);
        item_row_copy(earlier, row);
        return;
    }
    item_row_copy(append_item(unwritten), row);
    note_newest(unwritten);
}

void unwritten_put_step(struct unwritten *unwritten, const struct step_row *row)
{
    for (size_t i = 0; i < unwritten->step_count; i++) {
        if (strcmp(unwritten->steps[i].id, row->id) == 0) {
            step_row_clear(&unwritten->steps[i]);
            step_row_copy(&unwritten->steps[i], row);
            return;
        }
    }
    unwritten->steps =
        mem_resize(unwritten->steps, unwritten->step_count + 1, sizeof(*unwritten->steps));
    step_row_copy(&unwritten->steps[unwritten->step_count++], row);
}

void unwritten_put_call(struct unwritten *unwritten, const struct call_row *row)
{
    for (size_t i = 0; i < unwritten->call_count; i++) {
        struct call_row *earlier = &unwritten->calls[i];

        if (earlier->turn == row->turn && strcmp(earlier->call_id, row->call_id) == 0) {
            call_row_clear(earlier);
            call_row_copy(earlier, row);
            return;
        }
    }
    unwritten->calls =
        mem_resize(unwritten->calls, unwritten->call_count + 1, sizeof(*unwritten->calls));
    call_row_copy(&unwritten->calls[unwritten->call_count++], row);
}

void unwritten_put_variable(struct unwritten *unwritten, struct variable *variable)
{
    unwritten->variables = mem_resize(unwritten->variables, unwritten->variable_count + 1,
                                      sizeof(*unwritten->variables));
    unwritten->variables[unwritten->variable_count++] = *variable;
    *variable = (struct variable){0};
}

void unwritten_put_approval(struct unwritten *unwritten, const struct approval_row *row)
{
    unwritten->approvals = mem_resize(unwritten->approvals, unwritten->approval_count + 1,
                                      sizeof(*unwritten->approvals));
    approval_row_copy(&unwritten->approvals[unwritten->approval_count++], row);
}

void unwritten_move(struct unwritten *unwritten, struct run_write *write)
{
    write->items = unwritten->items;
    write->item_count = unwritten->item_count;
    write->steps = unwritten->steps;
    write->step_count = unwritten->step_count;
    write->calls = unwritten->calls;
    write->call_count = unwritten->call_count;
    write->variables = unwritten->variables;
    write->variable_count = unwritten->variable_count;
    write->approvals = unwritten->approvals;
    write->approval_count = unwritten->approval_count;
    json_decref(unwritten->places);
    *unwritten = (struct unwritten){0};
}
