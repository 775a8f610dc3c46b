#ifndef RUNNEL_TESTS_SUPPORT_QUOTED_H
#define RUNNEL_TESTS_SUPPORT_QUOTED_H

#include <jansson.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/*
 * quoted.h -- JSON in tests is written with ' for ", to be readable.
 */

static inline void quote(char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            *text = '"';
    }
}

/* The caller frees. */
static inline char *quoted(const char *text)
{
    char *json = mem_strdup(text);

    quote(json);
    return json;
}

/* New reference; the test fails unless it is JSON. */
static inline json_t *quoted_json(const char *text)
{
    AUTO_FREE char *json = quoted(text);
    json_t *value = NULL;

    assert_int_equal(json_parse(json, strlen(json), &value, NULL), ERR_OK);
    return value;
}

#endif
