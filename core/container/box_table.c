#include "core/container/box_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/container/python.h"
#include "core/sandbox/workspace/workspace.h"

static size_t bucket_of(const char *container)
{
    return hash_text(container) % BOX_TABLE_BUCKETS;
}

struct box_entry *box_table_find(const struct box_table *table, const char *container)
{
    struct box_entry *entry = table->buckets[bucket_of(container)];

    while (entry && (entry->alone || strcmp(entry->container, container) != 0))
        entry = entry->next;
    return entry;
}

struct box_entry *box_table_unended(const struct box_table *table, const char *container)
{
    struct box_entry *entry = table->buckets[bucket_of(container)];

    while (entry &&
           (strcmp(entry->container, container) != 0 || (entry->ended && !entry->killing)))
        entry = entry->next;
    return entry;
}

struct box_entry *box_table_add(struct box_table *table, const char *container, uint64_t memory,
                                const char *const *environment)
{
    struct box_entry **bucket = &table->buckets[bucket_of(container)];
    struct box_entry *entry = mem_new(struct box_entry);

    entry->next = *bucket;
    entry->container = mem_strdup(container);
    entry->python = python_new(environment, memory);
    *bucket = entry;
    return entry;
}

void box_table_remove(struct box_table *table, struct box_entry *entry)
{
    struct box_entry **at = &table->buckets[bucket_of(entry->container)];

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    python_free(entry->python);
    workspace_close(entry->written);
    free(entry->container);
    free(entry);
}

void box_table_start(struct box_table *table, struct box_entry *entry, uint64_t memory)
{
    entry->state = BOX_STARTING;
    entry->memory = memory;
    entry->number = ++table->number;
    table->live++;
    table->memory += memory;
}

void box_table_stop(struct box_table *table, struct box_entry *entry)
{
    entry->state = BOX_STOPPING;
    table->live--;
    table->memory -= entry->memory;
}

void box_table_rest(struct box_table *table, struct box_entry *entry)
{
    entry->idle_since_ns = clock_mono_ns();
    entry->idle_before = table->idle_last;
    entry->idle_after = NULL;
    *(table->idle_last ? &table->idle_last->idle_after : &table->idle_first) = entry;
    table->idle_last = entry;
    table->idle++;
    table->idle_memory += entry->memory;
}

void box_table_wake(struct box_table *table, struct box_entry *entry)
{
    *(entry->idle_before ? &entry->idle_before->idle_after : &table->idle_first) =
        entry->idle_after;
    *(entry->idle_after ? &entry->idle_after->idle_before : &table->idle_last) =
        entry->idle_before;
    table->idle--;
    table->idle_memory -= entry->memory;
}

struct box_entry *box_table_watched(const struct box_table *table)
{
    struct box_entry *next = NULL;

    for (size_t i = 0; i < BOX_TABLE_BUCKETS; i++) {
        for (struct box_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            if (entry->state == BOX_READY && entry->written && !entry->ended &&
                (!next || entry->check_ns < next->check_ns))
                next = entry;
        }
    }
    return next;
}

struct box_entry *box_table_numbered(const struct box_table *table, uint64_t number)
{
    for (size_t i = 0; i < BOX_TABLE_BUCKETS; i++) {
        for (struct box_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            if (entry->number == number && entry->state == BOX_READY && !entry->ended)
                return entry;
        }
    }
    return NULL;
}

struct box_entry *box_table_busy(const struct box_table *table)
{
    for (size_t i = 0; i < BOX_TABLE_BUCKETS; i++) {
        for (struct box_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            if (entry->state == BOX_READY && entry->calls && !entry->ended)
                return entry;
        }
    }
    return NULL;
}

bool box_table_clear(struct box_table *table)
{
    for (size_t i = 0; i < BOX_TABLE_BUCKETS; i++) {
        struct box_entry *entry;

        while ((entry = table->buckets[i]) && entry->state == BOX_ABSENT)
            box_table_remove(table, entry);
        if (entry)
            return false;
    }
    return true;
}
