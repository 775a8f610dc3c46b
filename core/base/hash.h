#ifndef RUNNEL_CORE_BASE_HASH_H
#define RUNNEL_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * hash.h -- FNV-1a, 32 bits: where something has its place in a table, and which of several threads
 * it belongs to.
 *
 * Not for what strangers can choose, unless the table's chains are limited otherwise. Any thread.
 */

#define HASH_OF_NOTHING 2166136261u

static inline uint32_t hash_byte(uint32_t hash, unsigned char byte)
{
    return (hash ^ byte) * 16777619u;
}

/* What `hash` is of, with more behind it. */
static inline uint32_t hash_add(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = hash_byte(hash, (unsigned char)*text);
    return hash;
}

static inline uint32_t hash_text(const char *text)
{
    return hash_add(HASH_OF_NOTHING, text);
}

#endif
