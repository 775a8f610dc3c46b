#ifndef RUNNEL_SERVER_API_RESPONSES_SOCKET_MEMORY_H
#define RUNNEL_SERVER_API_RESPONSES_SOCKET_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/ids.h"
#include "core/domain/rows.h"

/*
 * socket/memory.h -- what a WebSocket remembers of its responses, so that one can go on from another
 * without a look into the store, or without being there at all (store:false).
 *
 * A response is remembered as the items it added, behind those of the response it went on from: a
 * chain of `struct past`, shared by all that go on from it and never changed, so that a worker may
 * read it while the loop goes on. What is remembered of one connection, and of all, is limited;
 * what was not used longest is forgotten first.
 *
 * For the connection's loop only, but for past_items().
 */

#define WS_MEMORY_RESPONSES ((size_t)256)
#define WS_MEMORY_BYTES     ((size_t)16 << 20)

struct past;
struct ws_memory;

/* Shared by all connections. */
struct ws_budget {
    size_t limit;
    _Atomic size_t used;
};

/* A response that is remembered. */
struct ws_response {
    char id[ID_SIZE];
    struct past *past; /* NULL: its items are in the store only */
    bool stored;
    bool completed;        /* or incomplete */
    int64_t next_sequence; /* for what is told of it after its end */
    void *waiting;         /* its owner's: while it is set, the response is not forgotten */
    char lane[257];        /* "": none was named */

    struct ws_response *newer, *older; /* the memory's */
};

struct ws_memory *ws_memory_new(struct ws_budget *budget);
/* `drop` is called for each that is `waiting`. */
void ws_memory_free(struct ws_memory *memory, void (*drop)(void *waiting, void *arg),
                    void *arg);

/* Remembers the response with its items, which are copied: those of `run_id` behind `parent`, or
 * all of them when there is no parent. Without room for them, or for none (items NULL), only that
 * it was there. */
struct ws_response *ws_memory_keep(struct ws_memory *memory, const char *run_id,
                                   struct past *parent, const struct item_row *const *items,
                                   size_t count);

/* NULL when it is not remembered. What is found counts as used. */
struct ws_response *ws_memory_find(struct ws_memory *memory, const char *id);
void ws_memory_forget(struct ws_memory *memory, struct ws_response *response);

/* ---- The items of a response ---- */

struct past *past_hold(struct past *past); /* NULL is fine, here and below */
void past_release(struct ws_memory *memory, struct past *past);

/* Copies of the last `limit` of them, oldest first; the caller frees. Any thread that holds it. */
struct item_row *past_items(const struct past *past, size_t limit, size_t *ret_count);

#endif
