#ifndef RUNNEL_CORE_BASE_MEM_H
#define RUNNEL_CORE_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>

#include "core/base/compiler.h"

/*
 * mem.h -- allocation that does not fail, and release that cannot be forgotten.
 *
 * mem_new() and friends end the process when memory runs out: there is no
 * useful answer to give, and runs survive in PostgreSQL. In exchange, whatever
 * a client can make grow has a limit of its own and is refused long before that.
 *
 * What these return is released with free(). Every foo_free() in this program
 * accepts NULL.
 */

/* Makes free() return memory to the system after a peak. For programs that run for weeks. Call it before the
 * first thread starts, because it sets limits of the whole process. */
void mem_give_back_early(void);

void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *memory, size_t count, size_t size);
char *mem_strdup(const char *text); /* NULL gives NULL */
char *mem_strndup(const char *text,
                  size_t length); /* copies exactly `length` bytes, adds NUL */
char *mem_printf(const char *format, ...) PRINTF_LIKE(1, 2);

#define mem_new(type)              ((type *)mem_zeroed(1, sizeof(type)))
#define mem_new_array(type, count) ((type *)mem_zeroed((count), sizeof(type)))

/* A local that is freed at the end of its scope:  AUTO_FREE char *path = ...; */
static inline void mem_free_local(void *pointer_to_local)
{
    free(*(void **)pointer_to_local);
}
#define AUTO_FREE CLEANUP(mem_free_local)

/* Moves a pointer out of a variable, which becomes NULL: its cleanup then does nothing. */
#define TAKE(local)                         \
    __extension__({                         \
        __typeof__(local) taken_ = (local); \
        (local) = NULL;                     \
        taken_;                             \
    })

#endif
