#include "core/base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Blocks from this size on are mappings of their own, gone when they are freed. glibc begins with
 * the same, but the first large block that is freed moves it, up to 32 MiB: from then on bodies and
 * texts lie between small blocks, which keep them in memory for good. */
#define MAPPED_FROM (128 << 10)
/* What may stay free at the end of an arena, so that requests do not grow and shrink it. */
#define KEPT_FREE (1 << 20)

static NO_RETURN void out_of_memory(void)
{
    static const char text[] = "runnel: out of memory\n";

    (void)fwrite(text, 1, sizeof(text) - 1, stderr);
    abort();
}

void mem_give_back_early(void)
{
    /* Setting one of them stops glibc from moving either. */
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
