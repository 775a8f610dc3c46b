#ifndef RUNNEL_CORE_RUN_ENGINE_FILE_WAITS_H
#define RUNNEL_CORE_RUN_ENGINE_FILE_WAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/run/engine/engine.h"

/*
 * file_waits.h -- which runs of this node wait until the files of a vector store are searchable.
 *
 * A run is entered before its store is checked, so a file that ends in between is not missed. The keeper lists all
 * at once. Finding one takes constant time. Any thread may call; nothing blocks.
 */

struct file_waits;

struct file_waits *file_waits_new(void);
void file_waits_free(struct file_waits *waits); /* NULL is fine */

/* Copies it. A run that is there already gets this store. */
void file_waits_add(struct file_waits *waits, const struct engine_file_wait *wait);
/* Does nothing for a run that does not wait. */
void file_waits_drop(struct file_waits *waits, const char *run_id);

size_t file_waits_count(struct file_waits *waits);
/* Returns the number; the caller frees the array. */
size_t file_waits_list(struct file_waits *waits, struct engine_file_wait **ret_list);

#endif
