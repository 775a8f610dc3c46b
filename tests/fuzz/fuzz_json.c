/*
 * Text from outside becomes JSON and then text again, and stays the same: whatever was accepted
 * once can be stored and read back without another check, and is then the same text. It is also the
 * text that jansson writes.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/json/json_number.h"
#include "core/base/json/json_read.h"
#include "core/base/mem.h"

/* The slow twin of json_write(). */
static void compare_with_jansson(const json_t *value, const char *text)
{
    AUTO_FREE char *slow = json_dumps(value, JSON_TEXT_FLAGS);
    AUTO_BUF numbered = {0};

    buf_add_text(&numbered, slow);
    json_unmark_numbers(&numbered, 0);
    assert(strcmp(numbered.data, text) == 0);
}

/* The slow twin of json_read(), for texts that are not too rare for it. */
static void read_like_jansson(const char *text, size_t length, size_t flags)
{
    json_auto_t *fast = json_read(text, length, flags);
    json_auto_t *slow = json_loadb(text, length, flags | JSON_DECODE_ANY, NULL);

    assert(!fast || json_equal(fast, slow));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *clean = json_clean_utf8((const char *)data, size);
    json_t *value = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *again = NULL;

    assert(json_valid_utf8(clean, strlen(clean)));
    read_like_jansson((const char *)data, size, 0);
    read_like_jansson((const char *)data, size, JSON_REJECT_DUPLICATES);
    if (json_parse((const char *)data, size, &value, NULL) != ERR_OK)
        return 0;
    text = json_text(value);
    compare_with_jansson(value, text);
    json_decref(value);

    value = json_parse_own(text);
    again = json_text(value);
    assert(strcmp(text, again) == 0);
    json_decref(value);
    return 0;
}
