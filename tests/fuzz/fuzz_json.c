/*
 * Text from outside becomes JSON and then text again, and stays the same: whatever was accepted
 * once can be stored and read back without another check, and is then the same text.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *clean = json_clean_utf8((const char *)data, size);
    json_t *value = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *again = NULL;

    assert(json_valid_utf8(clean, strlen(clean)));
    if (json_parse((const char *)data, size, &value, NULL) != ERR_OK)
        return 0;
    text = json_text(value);
    json_decref(value);

    value = json_parse_own(text);
    again = json_text(value);
    assert(strcmp(text, again) == 0);
    json_decref(value);
    return 0;
}
