/*
 * message_cache.c -- variables whose names are made of their texts.
 *
 * The name is a part of the text's SHA-256. Ids of items would be simpler, but a client that sends its
 * history itself sends it without ids. A number by position would change when old messages are left
 * out. The name stands in the prompt, and a prompt must not change from request to request, or no prompt
 * cache of an upstream holds. Two equal messages have one name, and need only one variable.
 *
 * The hash need not keep secrets. But a user should not be able to make a message that takes the name of
 * another one, and so a short checksum would not do.
 *
 * The cache is read by tool workers while the run goes on. It is immutable once it is shared, so it has a
 * counter of holders and no lock. When the user has sent new messages, the run makes a new cache.
 */

#include "core/memory/message_cache.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"

#define DESCRIBED_TEXT ((size_t)60) /* characters of a message in its description */

struct message_cache {
    atomic_size_t holders;
    struct variable *messages;
    size_t count, room;
    json_t *
        names; /* a set, for message_cache_add(); not for readers, as jansson is not thread-safe */
};

struct message_cache *message_cache_new(void)
{
    struct message_cache *cache = mem_new(struct message_cache);

    atomic_init(&cache->holders, 1);
    cache->names = json_object();
    return cache;
}

struct message_cache *message_cache_hold(struct message_cache *cache)
{
    if (cache)
        atomic_fetch_add(&cache->holders, 1);
    return cache;
}

void message_cache_release(struct message_cache *cache)
{
    if (!cache || atomic_fetch_sub(&cache->holders, 1) > 1)
        return;
    variables_free(cache->messages, cache->count);
    json_decref(cache->names);
    free(cache);
}

void message_cache_name(const char *text, char ret_name[VARIABLE_NAME_LIMIT + 1])
{
    uint8_t hash[SHA256_DIGEST_SIZE];
    size_t length = strlen(VARIABLE_MESSAGE_PREFIX);

    sha256_text(text, hash);
    memcpy(ret_name, VARIABLE_MESSAGE_PREFIX, length + 1);
    for (size_t i = 0; i < VARIABLE_MESSAGE_DIGITS / 2; i++)
        (void)snprintf(ret_name + length + 2 * i, 3, "%02x", hash[i]);
}

/* The beginning of the message in one line, so that no message can break the form of a list of variables.
 * The caller frees. */
static char *describe(const char *role, const char *text)
{
    AUTO_FREE char *beginning = variable_slice(text, 0, DESCRIBED_TEXT);

    for (char *at = beginning; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
    }
    return mem_printf("Message of the %s: %s...", role, beginning);
}

void message_cache_add(struct message_cache *cache, const char *role, const char *text)
{
    struct variable message = {.type = VARIABLE_MESSAGE_CACHE, .plain = true};

    message_cache_name(text, message.name);
    if (json_object_get(cache->names, message.name))
        return;
    json_set_bool(cache->names, message.name, true);
    message.value = mem_strdup(text);
    message.description = describe(role, text);
    message.length = (int64_t)variable_length(text);
    message.bytes = (int64_t)strlen(text);
    if (cache->count == cache->room) {
        cache->room = cache->room ? 2 * cache->room : 8;
        cache->messages = mem_resize(cache->messages, cache->room, sizeof(*cache->messages));
    }
    cache->messages[cache->count++] = message;
}

static struct variable without_value(const struct variable *message)
{
    struct variable copy = *message;

    copy.value = NULL;
    copy.description = mem_strdup(message->description);
    return copy;
}

enum err_code message_cache_get(const struct message_cache *cache, const char *name,
                                struct variable *ret_variable, struct err *err)
{
    for (size_t i = 0; i < message_cache_count(cache); i++) {
        if (strcmp(cache->messages[i].name, name) != 0)
            continue;
        *ret_variable = without_value(&cache->messages[i]);
        ret_variable->value = mem_strdup(cache->messages[i].value);
        return ERR_OK;
    }
    return variable_not_found(name, err);
}

bool message_cache_at(const struct message_cache *cache, size_t n,
                      struct variable *ret_variable)
{
    if (n >= message_cache_count(cache))
        return false;
    *ret_variable = without_value(&cache->messages[n]);
    return true;
}

size_t message_cache_count(const struct message_cache *cache)
{
    return cache ? cache->count : 0;
}
