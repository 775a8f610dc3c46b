/*
 * json_nul.c -- reads a refused text again, with U+0000 allowed in strings, and looks for it.
 *
 * Only a text that is refused pays for the second reading. jansson allows U+0000 in strings and never in keys. It
 * reads all numbers as reals here, for it refuses larger integers than those of 64 bits.
 */

#include "server/http/parse/json_nul.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json/json_scan.h"
#include "core/base/mem.h"

static const char *dot(const char *path)
{
    return *path && *path != '[' ? "." : "";
}

/* The path from the value to the first string with U+0000, or NULL. The caller frees. */
static char *find(const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
        return mem_strdup("");
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        AUTO_FREE char *path = find(member);

        if (path)
            return mem_printf("%s%s%s", key, dot(path), path);
    }
    json_array_foreach (value, i, member) {
        AUTO_FREE char *path = find(member);

        if (path)
            return mem_printf("[%zu]%s%s", i, dot(path), path);
    }
    return NULL;
}

enum err_code json_nul_check(const char *text, size_t length, struct err *err)
{
    json_error_t failure;
    json_auto_t *value = NULL;
    AUTO_FREE char *path = NULL;

    if (json_scan(text, length, NULL))
        return ERR_OK;
    value = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
                       &failure);
    if (!value && json_error_code(&failure) == json_error_null_byte_in_key)
        return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, NULL,
                          "Invalid body: a key may not have the character U+0000.");
    path = find(value);
    if (!path)
        return ERR_OK;
    return err_refuse(err, ERR_INVALID, REASON_BAD_VALUE, path,
                      "Invalid '%s': a string may not have the character U+0000.", path);
}
