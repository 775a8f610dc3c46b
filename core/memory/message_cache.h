#ifndef RUNNEL_CORE_MEMORY_MESSAGE_CACHE_H
#define RUNNEL_CORE_MEMORY_MESSAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/variable.h"

/*
 * message_cache.h -- the long messages of a conversation, readable as variables.
 *
 * If a request wants it, the model is sent only the beginning and the end of a long message of the history
 * (core/run/context/long_messages.h). It can read the whole message as a variable. Such a variable is not
 * stored. It is made from the history that the run has loaded. So a branch of a conversation has the
 * variables of its own messages, and none of them is evicted, counted or left behind.
 *
 * Threads: the run's loop makes a cache and fills it. After that it does not change, and every thread that
 * holds it may read.
 */

struct message_cache;

/* An empty cache, which the caller holds. Every holder releases once, and the last release frees. NULL is
 * fine in both. */
struct message_cache *message_cache_new(void);
struct message_cache *message_cache_hold(struct message_cache *cache);
void message_cache_release(struct message_cache *cache);

/* The name of a message with that text. variable_is_message() is true for it. */
void message_cache_name(const char *text, char ret_name[VARIABLE_NAME_LIMIT + 1]);

/* Adds a message of that role, unless the cache has the text. Both are copied. Only before another thread
 * holds the cache. */
void message_cache_add(struct message_cache *cache, const char *role, const char *text);

/* A copy of the message of that name; the caller clears it. `cache` may be NULL, and has no message then.
 * ERR_NOT_FOUND: "Variable 'x' not found." */
enum err_code message_cache_get(const struct message_cache *cache, const char *name,
                                struct variable *ret_variable, struct err *err) MUST_CHECK;
/* A copy of the nth message, oldest first, without its value; the caller clears it. False: no more. */
bool message_cache_at(const struct message_cache *cache, size_t n,
                      struct variable *ret_variable);
size_t message_cache_count(const struct message_cache *cache);

#endif
