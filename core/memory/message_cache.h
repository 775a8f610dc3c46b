#ifndef RUNNEL_CORE_MEMORY_MESSAGE_CACHE_H
#define RUNNEL_CORE_MEMORY_MESSAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain/variable.h"

/*
 * message_cache.h -- long messages of a conversation, as variables that nobody has written.
 *
 * Where a run wants it, the model is shown the beginning and the end of a long message of its history
 * (core/run/context/long_messages.h), and finds all of it under a name. Such a variable is in no store: it is made
 * of what the run has loaded anyway, so a branch has those of its own messages, and none outlives its
 * message, is evicted or counted.
 *
 * The name is made of the text. Ids would not do: a client that sends its history itself sends it without
 * them, and what the model was shown of a message must not change from request to request, or no prompt
 * cache would hold.
 *
 * Filled by the run's loop; after that nobody changes it, and any thread that holds it may read.
 */

struct message_cache;

/* Freed with its last holder. */
struct message_cache *message_cache_new(void);
/* NULL is nothing to hold. */
struct message_cache *message_cache_hold(struct message_cache *cache);
void message_cache_release(struct message_cache *cache);

/* What a message of that text is called: variable_is_message() is true of it. */
void message_cache_name(const char *text, char ret_name[VARIABLE_NAME_LIMIT + 1]);

/* Adds what `role` has said, unless there is a text of that name. Only before anybody else holds it. */
void message_cache_add(struct message_cache *cache, const char *role, const char *text);

/* The cache may be NULL for none. ERR_NOT_FOUND: "Variable 'x' not found." */
enum err_code message_cache_get(const struct message_cache *cache, const char *name,
                                struct variable *ret_variable, struct err *err) MUST_CHECK;
/* The nth, oldest first, without its value. False: there are no more. */
bool message_cache_at(const struct message_cache *cache, size_t n,
                      struct variable *ret_variable);
size_t message_cache_count(const struct message_cache *cache);

#endif
