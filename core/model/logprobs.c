/*
 * logprobs.c -- log probabilities as OpenAI's API has them, whatever the server added.
 *
 * Servers add members of their own (token ids, ranks, offsets) and leave out `bytes`. Clients parse with
 * strict types, and the object is stored and sent as it is. So each entry is built anew from the known
 * members.
 */

#include "core/model/logprobs.h"

#include "core/base/json.h"

/* The UTF-8 of the token, for servers that leave out `bytes`. */
static json_t *bytes_of(const json_t *token)
{
    const unsigned char *text = (const unsigned char *)json_string_value(token);
    json_t *bytes = json_array();

    for (size_t i = 0; i < json_string_length(token); i++)
        json_array_append_new(bytes, json_integer(text[i]));
    return bytes;
}

static bool is_bytes(const json_t *value)
{
    size_t i;
    json_t *byte;

    json_array_foreach (value, i, byte) {
        if (!json_is_integer(byte))
            return false;
    }
    return json_is_array(value);
}

static json_t *clean_one(const json_t *given)
{
    json_t *token = json_object_get(given, "token");
    json_t *bytes = json_object_get(given, "bytes");
    json_t *logprob = json_object_get(given, "logprob");

    if (!json_is_string(token) || !json_is_number(logprob))
        return NULL;
    return json_build("{s:O, s:O, s:o}", "token", token, "logprob", logprob, "bytes",
                      is_bytes(bytes) ? json_incref(bytes) : bytes_of(token));
}

json_t *logprobs_clean(const json_t *given)
{
    json_auto_t *clean = json_array();
    size_t i, n;
    json_t *entry, *other;

    json_array_foreach (given, i, entry) {
        json_t *one = clean_one(entry);
        json_t *top = json_array();

        json_array_foreach (json_object_get(entry, "top_logprobs"), n, other) {
            json_t *alternative = clean_one(other);

            if (alternative)
                json_array_append_new(top, alternative);
        }
        if (one) {
            json_set(one, "top_logprobs", top);
            json_array_append_new(clean, one);
        } else {
            json_decref(top);
        }
    }
    return json_array_size(clean) ? json_incref(clean) : NULL;
}
