#include "core/run/engine/file_waits.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/lock.h"
#include "core/base/mem.h"

#define TABLE_SIZE ((size_t)256)

struct entry {
    struct engine_file_wait wait;
    struct entry *next;
};

struct file_waits {
    struct lock lock; /* guards all below */
    struct entry *table[TABLE_SIZE];
    size_t count;
};

struct file_waits *file_waits_new(void)
{
    struct file_waits *waits = mem_new(struct file_waits);

    lock_init(&waits->lock, LOCK_ENGINE);
    return waits;
}

void file_waits_free(struct file_waits *waits)
{
    if (!waits)
        return;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        while (waits->table[i]) {
            struct entry *entry = waits->table[i];

            waits->table[i] = entry->next;
            free(entry);
        }
    }
    lock_destroy(&waits->lock);
    free(waits);
}

/* The pointer to the entry in the table; it points to NULL if the run does not wait. */
static struct entry **find_locked(struct file_waits *waits, const char *run_id)
    REQUIRES(waits->lock)
{
    struct entry **at = &waits->table[hash_text(run_id) % TABLE_SIZE];

    while (*at && strcmp((*at)->wait.run_id, run_id) != 0)
        at = &(*at)->next;
    return at;
}

void file_waits_add(struct file_waits *waits, const struct engine_file_wait *wait)
{
    struct entry **at;

    lock_acquire(&waits->lock);
    at = find_locked(waits, wait->run_id);
    if (!*at) {
        *at = mem_new(struct entry);
        waits->count++;
    }
    (*at)->wait = *wait;
    lock_release(&waits->lock);
}

void file_waits_drop(struct file_waits *waits, const char *run_id)
{
    struct entry **at, *entry;

    lock_acquire(&waits->lock);
    at = find_locked(waits, run_id);
    entry = *at;
    if (entry) {
        *at = entry->next;
        waits->count--;
    }
    lock_release(&waits->lock);
    free(entry);
}

size_t file_waits_count(struct file_waits *waits)
{
    size_t count;

    lock_acquire(&waits->lock);
    count = waits->count;
    lock_release(&waits->lock);
    return count;
}

size_t file_waits_list(struct file_waits *waits, struct engine_file_wait **ret_list)
{
    struct engine_file_wait *list;
    size_t count = 0;

    lock_acquire(&waits->lock);
    list = mem_new_array(struct engine_file_wait, waits->count);
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        for (const struct entry *entry = waits->table[i]; entry; entry = entry->next)
            list[count++] = entry->wait;
    }
    lock_release(&waits->lock);
    *ret_list = list;
    return count;
}
