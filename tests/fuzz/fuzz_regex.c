/*
 * A pattern and a text from outside: a byte of flags, then "pattern/text". Every match lies
 * inside the text and behind the match before it, and nothing takes more steps than the limit.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/regex.h"

static void check_match(const struct regex *regex, const struct regex_match *match, size_t from,
                        size_t length)
{
    assert(match->at[0] >= from && match->at[0] != REGEX_NOWHERE);
    for (size_t i = 0; i < regex_group_count(regex); i++) {
        const size_t *at = &match->at[i * 2];

        if (at[0] != REGEX_NOWHERE)
            assert(at[0] <= at[1] && at[1] <= length);
    }
}

static void scan_all(const struct regex *regex, const char *text, size_t length)
{
    struct regex_scan *scan = regex_scan_new(regex, text, length, 100000);
    struct regex_match match;
    size_t from = 0;

    while (regex_scan_next(scan, &match, NULL) == ERR_OK) {
        check_match(regex, &match, from, length);
        from = match.at[1];
    }
    regex_scan_free(scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *slash = size > 1 ? memchr(data + 1, '/', size - 1) : NULL;
    size_t length = slash ? (size_t)(slash - data) - 1 : 0;
    struct regex *regex = NULL;

    if (!slash || regex_compile((const char *)data + 1, length, data[0] & 7u, &regex, NULL))
        return 0;
    scan_all(regex, (const char *)slash + 1, size - length - 2);
    regex_free(regex);
    return 0;
}
