#ifndef RUNNEL_CORE_BASE_HASH_H
#define RUNNEL_CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * hash.h -- FNV-1a, 32 bits: the place of a key in a hash table, or the thread that it belongs to.
 *
 * A stranger can choose keys that collide. A table whose keys come from outside needs another limit
 * on the length of its chains. Any thread.
 */

#define HASH_OF_NOTHING 2166136261u

static inline uint32_t hash_byte(uint32_t hash, unsigned char byte)
{
    return (hash ^ byte) * 16777619u;
}

/* The hash of the text that `hash` is of, followed by `text`. */
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
