/*
 * A WebSocket's memory of its responses.
 *
 *   newest ◀─▶ response ◀─▶ response ◀─▶ oldest      the list, by last use
 *                 │            │
 *                 ▼            ▼
 *               past ───▶    past ───▶ past ...      the chains, counted
 *
 * Responses of one connection mostly continue each other, so their contexts share a long beginning.
 * A copy of the whole context for each would grow with the square of the conversation. As a chain,
 * each item is in memory once.
 *
 * Counted references, and not a list of children: forgetting a response releases its own hold, and a
 * `struct past` lives until the last response or turn that needs it is gone. Hence a response that
 * others continue gives no memory back when it is forgotten, and make_room() may have to forget
 * several.
 *
 * The counters are plain integers, because only the loop holds and releases. A worker reads a chain
 * that its turn holds. The budget is atomic: connections are on different loops. Two of them may
 * exceed it together by one response each, which does no harm.
 *
 * Losing this memory costs little. A stored response is loaded from the store instead. A response
 * with store:false cannot be continued any more, as after a lost connection.
 */

#include "server/api/responses/socket/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/domain/item.h"

struct past {
    struct past *parent; /* held */
    unsigned holders;
    struct item_row *items; /* of one response; all of a context if there is no parent */
    size_t count;
    size_t bytes; /* as they count against the limits */
};

struct ws_memory {
    struct ws_budget *budget;
    size_t bytes; /* of every past that is alive, remembered or only held */
    size_t count; /* of responses */
    struct ws_response *newest, *oldest;
};

/* ---- Chains ---- */

struct past *past_hold(struct past *past)
{
    if (past)
        past->holders++;
    return past;
}

/* A loop and no recursion, because a chain may be long. */
void past_release(struct ws_memory *memory, struct past *past)
{
    while (past && !--past->holders) {
        struct past *parent = past->parent;

        memory->bytes -= past->bytes;
        atomic_fetch_sub(&memory->budget->used, past->bytes);
        item_rows_free(past->items, past->count);
        free(past);
        past = parent;
    }
}

/* Takes the items from the newest on, or only counts them with NULL. Beyond the limit only rules are
 * taken. Returns how many there are. */
static size_t take_newest(const struct past *past, size_t limit, struct item_row *end,
                          bool *ret_cut)
{
    size_t seen = 0, taken = 0;

    for (const struct past *one = past; one; one = one->parent) {
        for (size_t i = one->count; i-- > 0; seen++) {
            if (seen >= limit && !item_row_is_rule(&one->items[i]))
                continue;
            taken++;
            if (end)
                item_row_copy(end - taken, &one->items[i]);
        }
    }
    *ret_cut = seen > limit;
    return taken;
}

struct item_row *past_items(const struct past *past, size_t limit, size_t *ret_count,
                            bool *ret_cut)
{
    size_t count = take_newest(past, limit, NULL, ret_cut);
    struct item_row *rows = mem_new_array(struct item_row, count + 1);

    *ret_count = take_newest(past, limit, rows + count, ret_cut);
    return rows;
}

static size_t row_bytes(const struct item_row *row)
{
    return sizeof(*row) + (row->body ? strlen(row->body) : 0) +
           (row->metadata ? strlen(row->metadata) : 0);
}

/* Whether the item goes into the response's own part: with a parent, the others are in its chain. */
static bool belongs(const struct item_row *row, const char *run_id, const struct past *parent)
{
    return !parent || strcmp(row->run_id, run_id) == 0;
}

static size_t bytes_of(const char *run_id, const struct past *parent,
                       const struct item_row *const *items, size_t count)
{
    size_t bytes = sizeof(struct past);

    for (size_t i = 0; i < count; i++)
        bytes += belongs(items[i], run_id, parent) ? row_bytes(items[i]) : 0;
    return bytes;
}

static struct past *past_new(struct ws_memory *memory, const char *run_id, struct past *parent,
                             const struct item_row *const *items, size_t count, size_t bytes)
{
    struct past *past = mem_new(struct past);

    past->holders = 1;
    past->parent = past_hold(parent);
    past->bytes = bytes;
    past->items = mem_new_array(struct item_row, count);
    for (size_t i = 0; i < count; i++) {
        if (belongs(items[i], run_id, parent))
            item_row_copy(&past->items[past->count++], items[i]);
    }
    memory->bytes += bytes;
    atomic_fetch_add(&memory->budget->used, bytes);
    return past;
}

/* ---- Responses, by last use ---- */

static void unlink_response(struct ws_memory *memory, struct ws_response *response)
{
    if (response->newer)
        response->newer->older = response->older;
    else
        memory->newest = response->older;
    if (response->older)
        response->older->newer = response->newer;
    else
        memory->oldest = response->newer;
    memory->count--;
}

static void link_response(struct ws_memory *memory, struct ws_response *response)
{
    response->newer = NULL;
    response->older = memory->newest;
    if (memory->newest)
        memory->newest->newer = response;
    else
        memory->oldest = response;
    memory->newest = response;
    memory->count++;
}

void ws_memory_forget(struct ws_memory *memory, struct ws_response *response)
{
    unlink_response(memory, response);
    past_release(memory, response->past);
    free(response);
}

static bool forget_oldest(struct ws_memory *memory)
{
    struct ws_response *response = memory->oldest;

    while (response && response->waiting)
        response = response->newer;
    if (!response)
        return false;
    ws_memory_forget(memory, response);
    return true;
}

static bool is_too_much(const struct ws_memory *memory, size_t bytes)
{
    return memory->bytes + bytes > WS_MEMORY_BYTES ||
           atomic_load(&memory->budget->used) + bytes > memory->budget->limit;
}

/* Forgets responses until there is room. False if that is not enough. */
static bool make_room(struct ws_memory *memory, size_t bytes)
{
    while (is_too_much(memory, bytes)) {
        if (!forget_oldest(memory))
            return false;
    }
    return true;
}

struct ws_response *ws_memory_keep(struct ws_memory *memory, const char *run_id,
                                   struct past *parent, const struct item_row *const *items,
                                   size_t count)
{
    struct ws_response *response = mem_new(struct ws_response);
    size_t bytes = bytes_of(run_id, parent, items, items ? count : 0);

    (void)snprintf(response->id, sizeof(response->id), "%s", run_id);
    if (memory->count >= WS_MEMORY_RESPONSES)
        (void)forget_oldest(memory);
    if (items && make_room(memory, bytes))
        response->past = past_new(memory, run_id, parent, items, count, bytes);
    link_response(memory, response);
    return response;
}

struct ws_response *ws_memory_find(struct ws_memory *memory, const char *id)
{
    struct ws_response *response = memory->newest;

    while (response && strcmp(response->id, id) != 0)
        response = response->older;
    if (response && response != memory->newest) {
        unlink_response(memory, response);
        link_response(memory, response);
    }
    return response;
}

struct ws_memory *ws_memory_new(struct ws_budget *budget)
{
    struct ws_memory *memory = mem_new(struct ws_memory);

    memory->budget = budget;
    return memory;
}

void ws_memory_free(struct ws_memory *memory, void (*drop)(void *waiting, void *arg), void *arg)
{
    while (memory->newest) {
        if (memory->newest->waiting)
            drop(memory->newest->waiting, arg);
        ws_memory_forget(memory, memory->newest);
    }
    assert(!memory->bytes);
    free(memory);
}
