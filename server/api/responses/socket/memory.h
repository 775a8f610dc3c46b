#ifndef RUNNEL_SERVER_API_RESPONSES_SOCKET_MEMORY_H
#define RUNNEL_SERVER_API_RESPONSES_SOCKET_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/ids.h"
#include "core/domain/rows.h"

/*
 * socket/memory.h -- a WebSocket's memory of its responses. A response continues another one of the
 * connection without loading its items from the store, also if that one was never stored
 * (store:false).
 *
 * A response is remembered as the items that it added, behind those of the response that it
 * continued: a chain of `struct past`, shared by all responses that continue it. A `struct past` never
 * changes, so a worker may read it while the loop works. The memory of one connection is limited by
 * the constants below, that of all connections by a budget. The least recently used response is
 * forgotten first.
 *
 * For the connection's loop only, except past_items().
 */

#define WS_MEMORY_RESPONSES ((size_t)256)
#define WS_MEMORY_BYTES     ((size_t)16 << 20)

struct past;
struct ws_memory;

/* Bytes of remembered items, of all connections together. */
struct ws_budget {
    size_t limit;
    _Atomic size_t used;
};

/* A remembered response. The memory's; the owner may change the members from `stored` to `lane`. */
struct ws_response {
    char id[ID_SIZE];
    struct past *past;     /* its items; NULL: they are in the store only, or nowhere */
    bool stored;           /* it has a row, and store:true */
    bool completed;        /* its status is completed */
    int64_t next_sequence; /* the number of an event that is sent after its end */
    void *waiting;         /* the owner's; while it is set, the response is not forgotten */
    char lane[257];        /* stream_id; "" if the client used none */

    struct ws_response *newer, *older; /* the memory's */
};

struct ws_memory *ws_memory_new(struct ws_budget *budget); /* borrows the budget */
/* Calls drop(waiting, arg) for each response whose `waiting` is set. No `struct past` may be held any
 * more. */
void ws_memory_free(struct ws_memory *memory, void (*drop)(void *waiting, void *arg),
                    void *arg);

/* Remembers a response. Copies its items: those of `run_id` behind `parent`, or all `items` if `parent` is
 * NULL. If items is NULL, or there is no room for them, only the response's existence is remembered:
 * its `past` is NULL. Returns it, borrowed until it is forgotten. */
struct ws_response *ws_memory_keep(struct ws_memory *memory, const char *run_id,
                                   struct past *parent, const struct item_row *const *items,
                                   size_t count);

/* NULL if it is not remembered. Finding it counts as using it. */
struct ws_response *ws_memory_find(struct ws_memory *memory, const char *id);
void ws_memory_forget(struct ws_memory *memory, struct ws_response *response);

/* ---- The items of a response ---- */

/* A holder keeps the items alive, also when the response is forgotten. NULL is fine in all three. */
struct past *past_hold(struct past *past);
void past_release(struct ws_memory *memory, struct past *past);

/* Copies of the last `limit` items and of all rules before them, oldest first. *ret_cut: there are more
 * items than the limit. The caller frees with item_rows_free(). Any thread, as long as the loop holds
 * `past` for it. */
struct item_row *past_items(const struct past *past, size_t limit, size_t *ret_count,
                            bool *ret_cut);

#endif
