/*
 * json_as_text.c -- the output of a client's call, as the model reads it.
 *
 * An upstream takes text as the output of a function. An object would be refused.
 */

#include "handlers/support/json_as_text.h"

#include "core/base/json.h"
#include "core/base/mem.h"

json_t *json_as_text(const json_t *value)
{
    AUTO_FREE char *text = json_text(value);

    return json_string_nocheck(text);
}
