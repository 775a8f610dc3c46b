/*
 * The scanner of the token path against jansson. What the scanner accepts is JSON with exactly
 * one choice, that choice has exactly the content that the scanner found, and nothing else in it
 * would matter.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/model/chat/chat_chunk.h"

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

static void compare(const json_t *chunk, const char *text, size_t length)
{
    const json_t *choices = json_object_get(chunk, "choices");
    const json_t *choice = json_array_get(choices, 0);
    const json_t *delta = json_object_get(choice, "delta");
    const json_t *content = json_object_get(delta, "content");

    assert(json_array_size(choices) == 1);
    assert(json_is_string(content));
    assert(json_string_length(content) == length);
    assert(memcmp(json_string_value(content), text, length) == 0);
    assert(!member(chunk, "error") && !member(chunk, "usage"));
    assert(!member(choice, "finish_reason"));
    assert(!member(delta, "tool_calls") && !member(delta, "refusal"));
    assert(!member(delta, "reasoning") && !member(delta, "reasoning_content"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buf scratch;
    const char *text = NULL;
    size_t length = 0;
    json_t *chunk = NULL;

    if (!chat_chunk_scan((const char *)data, size, &scratch, &text, &length))
        return 0;
    assert(json_parse((const char *)data, size, &chunk, NULL) == ERR_OK);
    compare(chunk, text, length);
    json_decref(chunk);
    return 0;
}
