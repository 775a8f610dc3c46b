/*
 * mem.c -- malloc() whose failure ends the process, and settings for glibc.
 *
 * No caller checks for NULL. Code that handles the failure of every allocation is code that no test reaches,
 * and it doubles the paths of each function. When memory runs out the process ends. Runs are in PostgreSQL,
 * and another node or the next start continues them. What makes that acceptable is that no client can cause
 * it: everything that a client can enlarge has a limit with a name.
 *
 * New memory is zeroed; what mem_resize() adds is not. An enum that begins with 0 for "none" and a pointer that begins
 * as NULL make most initialisers unnecessary, and a forgotten field is the same in every run.
 */

#include "core/base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Blocks of this size and above are mappings of their own, which free() returns to the system. That is
 * glibc's default too, but glibc raises the limit, up to 32 MiB, when a large block is freed. From then on
 * bodies and texts lie between small blocks, and freeing them returns nothing (mallopt(3)). */
#define MAPPED_FROM (128 << 10)
/* Free bytes that an arena keeps at its end, so that not every request grows and shrinks it. */
#define KEPT_FREE (1 << 20)

static NO_RETURN void out_of_memory(void)
{
    static const char text[] = "runnel: out of memory\n";

    (void)fwrite(text, 1, sizeof(text) - 1, stderr);
    abort();
}

void mem_give_back_early(void)
{
    /* Setting one of the two stops glibc from adjusting both. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_FREE);
}

void *mem_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        out_of_memory();
    return memory;
}

void *mem_resize(void *memory, size_t count, size_t size)
{
    void *resized = reallocarray(memory, count ? count : 1, size);

    if (!resized)
        out_of_memory();
    return resized;
}

char *mem_strdup(const char *text)
{
    return text ? mem_strndup(text, strlen(text)) : NULL;
}

char *mem_strndup(const char *text, size_t length)
{
    char *copy = mem_zeroed(length + 1, 1);

    memcpy(copy, text, length);
    return copy;
}

char *mem_printf(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        out_of_memory();
    return text;
}
