#ifndef RUNNEL_CORE_CONTAINER_BOX_TABLE_H
#define RUNNEL_CORE_CONTAINER_BOX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sandbox/workspace/workspace_scan.h"

/*
 * box_table.h -- what boxes.c knows of each container: its box, its Python, how many calls have it, and since when
 * none has.
 *
 * The room that boxes take is counted here, so that it is always the sum of what is in the table. The caller holds the
 * lock of boxes.c.
 */

enum box_state {
    BOX_ABSENT,   /* the entry is kept while its Python has something to say */
    BOX_STARTING, /* a call makes it */
    BOX_READY,
    BOX_STOPPING, /* some thread closes it */
};

struct box_entry {
    struct box_entry *next; /* in its bucket */
    char *container;
    enum box_state state;
    struct box *box;
    struct proxy *proxy; /* of its box; NULL: it has no network */
    struct python *python;
    uint64_t memory; /* of its box */
    unsigned calls;
    bool python_taken;
    bool alone;   /* its box is for one call: no other call finds it */
    bool ended;   /* the container is deleted or has expired, or the server stops */
    bool killing; /* that ends its processes now: a thread waits for them */
    /* While it is ready and no call has it: its neighbours in the order in which that became so */
    struct box_entry *idle_before, *idle_after;
    uint64_t idle_since_ns;
    struct box_entry *next_victim; /* of a call that makes room */
    /* What its box can write, and what was seen there. NULL: nothing. Owned */
    struct workspace *written;
    struct workspace_watch watch;
    uint64_t check_ns, pause_ns; /* the next check, and how long it is after the last one */
    uint64_t number;             /* of its box: no two have the same */
    bool too_far;                /* at the last check */
};

#define BOX_TABLE_BUCKETS 256

/* Starts as zeros. */
struct box_table {
    struct box_entry *buckets[BOX_TABLE_BUCKETS];
    struct box_entry *idle_first, *idle_last;
    size_t live, idle; /* boxes that start or are ready; those that no call has */
    uint64_t memory, idle_memory;
    uint64_t number; /* of the last box */
};

/* The box that the calls of a container share. */
struct box_entry *box_table_find(const struct box_table *table, const char *container);

/* Any entry of the container that has not ended, or whose processes are being ended; NULL: all have. */
struct box_entry *box_table_unended(const struct box_table *table, const char *container);

/* A new entry without a box. `memory` and `environment` are for python_new(). */
struct box_entry *box_table_add(struct box_table *table, const char *container, uint64_t memory,
                                const char *const *environment);

/* An entry without a box. Frees it. */
void box_table_remove(struct box_table *table, struct box_entry *entry);

/* Its box starts, with so much memory: it counts. */
void box_table_start(struct box_table *table, struct box_entry *entry, uint64_t memory);

/* It stops, and does not count any more. */
void box_table_stop(struct box_table *table, struct box_entry *entry);

/* No call has it any more, or one has again. */
void box_table_rest(struct box_table *table, struct box_entry *entry);
void box_table_wake(struct box_table *table, struct box_entry *entry);

/* The box that is checked next; NULL: none is. */
struct box_entry *box_table_watched(const struct box_table *table);

/* The entry whose box has this number; NULL: it has ended. */
struct box_entry *box_table_numbered(const struct box_table *table, uint64_t number);

/* A box that calls have and that is not about to end; NULL: there is no such box. */
struct box_entry *box_table_busy(const struct box_table *table);

/* Removes all entries without a box. False if there are others. */
bool box_table_clear(struct box_table *table);

#endif
